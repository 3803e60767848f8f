// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ERC165, IERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";
import {DataAsCode} from "./DataAsCode.sol";
import {ExactGasCall} from "./ExactGasCall.sol";
import {Answer, Commitment, Evidence, IAgentOracle, Order} from "./IAgentOracle.sol";
import {IAgentOracleClient, Outcome} from "./IAgentOracleClient.sol";

/// @title Asks registered workers for what the executor would answer, and calls back with it
/// @notice Its rules:
///   - a request is stored as a hash; the hash is deleted before the callback, so no answer counts twice;
///   - a callback gets the gas that was paid for, or nothing happens at all;
///   - a callback that reverts or runs out of gas is recorded, and its worker paid; the answer is kept, and anybody may
///     call again with more gas;
///   - after the deadline anybody may end a request, and its fee goes back;
///   - wei go out by `withdraw` and `withdrawFor` alone;
///   - during a callback `request` and `release` may be called. Everything else that changes the state reverts, but for
///     handing over the ownership. `release` calls nobody and sends nothing; by it a run that ends gives back what it did
///     not use.
/// @dev The contract's wei are: what is claimable, budgets, subscriptions, and the fees of requests without an answer.
contract AgentOracle is IAgentOracle, ERC165, EIP712, Ownable2Step, ReentrancyGuard {
    using EnumerableSet for EnumerableSet.AddressSet;

    /// @notice What requests cost. The fee is `inference + gasPrice * (callbackGasLimit + answerGas)`.
    /// @param inference wei of one inference
    /// @param gasPrice wei of one gas
    /// @param answerGas gas of an answer without its callback, as it is charged
    struct Prices {
        uint96 inference;
        uint96 gasPrice;
        uint32 answerGas;
    }

    /// @notice Pays for the requests of some clients.
    /// @param owner who manages it; zero once it is cancelled
    /// @param balance wei that no budget has taken
    struct Subscription {
        address owner;
        uint128 balance;
    }

    /// @notice Pays for the requests of one run.
    /// @param payer who gets back what is left, where there is no subscription
    /// @param fee wei of each request
    /// @param balance wei left
    /// @param releasableAt in seconds since 1970: from then on anybody may release it
    struct Budget {
        address client;
        uint64 subscriptionId;
        uint32 callbackGasLimit;
        bool released;
        address payer;
        uint64 releasableAt;
        uint128 fee;
        uint128 balance;
    }

    /// @dev An answer that was given, or a request that expired.
    struct Record {
        address client;
        uint32 callbackGasLimit;
        Outcome outcome;
        bool delivered;
        address worker;
        address output;
    }

    /// @notice The prices were set.
    event PricesSet(Prices prices);

    /// @notice A worker was registered or removed.
    event WorkerSet(address indexed worker, bool registered);

    /// @notice A subscription was created.
    event SubscriptionCreated(uint64 indexed subscriptionId, address indexed owner);

    /// @notice Somebody paid `amount` wei into a subscription.
    event SubscriptionFunded(uint64 indexed subscriptionId, uint256 amount);

    /// @notice A client may use a subscription, or may no longer.
    event ConsumerSet(uint64 indexed subscriptionId, address indexed client, bool allowed);

    /// @notice A subscription ended. Its owner may withdraw `amount` wei, and what its budgets still give back.
    event SubscriptionCancelled(uint64 indexed subscriptionId, uint256 amount);

    /// @notice The arguments are longer than the executor reads.
    error ArgumentsTooLong(uint256 size, uint256 limit);

    /// @notice A member of the order is out of its range.
    error OutOfRange(string member, uint256 value, uint256 lowest, uint256 highest);

    /// @notice The value does not pay for the new budget, or the order names a budget or subscription and carries value.
    error WrongValue(uint256 value, uint256 expected);

    /// @notice The budget is another client's, was released, or never opened.
    error BudgetNotUsable(uint256 budgetId);

    /// @notice The budget has less than the fee of one request. Open one for more steps.
    error BudgetExhausted(uint256 budgetId, uint256 balance, uint256 fee);

    /// @notice The budget's lifetime is not over, and the caller is not its client.
    error BudgetNotReleasable(uint256 budgetId, uint256 releasableAt);

    /// @notice The subscription does not exist, was cancelled, or does not let this client use it.
    error SubscriptionNotUsable(uint64 subscriptionId, address client);

    /// @notice The subscription has less than the budget needs. Fund it.
    error SubscriptionExhausted(uint64 subscriptionId, uint256 balance, uint256 needed);

    /// @notice The caller does not own the subscription.
    error NotSubscriptionOwner(uint64 subscriptionId, address caller);

    /// @notice No request waits with this commitment: it was answered, expired, altered, or never made.
    error UnknownCommitment(uint256 requestId);

    /// @notice The deadline is over. The request can only expire.
    error TooLate(uint256 requestId, uint256 deadline);

    /// @notice The deadline is not over yet.
    error TooEarly(uint256 requestId, uint256 deadline);

    /// @notice The evidence names another block than the request's.
    error WrongBlock(uint256 blockNumber, bytes32 stated, bytes32 actual);

    /// @notice `Evidence.outputHash` is not the output's hash.
    error WrongOutputHash(bytes32 stated, bytes32 actual);

    /// @notice The output is longer than can be kept.
    error OutputTooLong(uint256 size, uint256 limit);

    /// @notice Whoever signed the answer is not a registered worker.
    error NotWorker(address signer);

    /// @notice The request has no answer yet, or its client has taken it.
    error NothingToRetry(uint256 requestId);

    /// @notice The account has nothing to withdraw.
    error NothingToWithdraw(address account);

    uint256 public constant MAX_ARGUMENTS_BYTES = 65_536; // the executor reads no more
    uint256 public constant MAX_OUTPUT_BYTES = 24_575; // EIP-170, less the first byte of the code that keeps it
    uint256 public constant MAX_CALLBACK_GAS = 11_000_000; // with the longest output 16,739,262: EIP-7825 has 16,777,216
    uint256 public constant MAX_TIMEOUT = 7 days;
    uint256 public constant MAX_LIFETIME = 30 days;

    /// @dev Gas for what follows a callback: the record, the event and the return. Measured: 12,000 at most.
    uint256 internal constant GAS_AFTER_CALLBACK = 30_000;

    bytes32 private constant EVIDENCE_TYPE = keccak256(
        "AgentAnswer(uint256 requestId,bytes32 argumentsHash,bool refused,bytes32 blockHash,bytes32 modelDigest,"
        "bytes32 profileFingerprint,bytes32 promptHash,bytes32 outputHash)"
    );

    /// @inheritdoc IAgentOracle
    mapping(uint256 requestId => bytes32) public commitmentOf;

    /// @inheritdoc IAgentOracle
    mapping(address account => uint256) public claimable;

    /// @notice Returns the budget with this number.
    mapping(uint256 budgetId => Budget) public budgets;

    /// @notice Returns the subscription with this number.
    mapping(uint64 subscriptionId => Subscription) public subscriptions;

    /// @notice Tells whether a client may use a subscription.
    mapping(uint64 subscriptionId => mapping(address client => bool)) public isConsumer;

    /// @notice How many requests were made.
    uint256 public requestCount;

    /// @notice How many budgets were opened; the last one's number.
    uint256 public budgetCount;

    /// @notice How many subscriptions were created; the last one's number.
    uint64 public subscriptionCount;

    /// @notice What new budgets cost.
    Prices public prices;

    mapping(uint256 requestId => Record) private records;
    EnumerableSet.AddressSet private workerSet;

    /// @param owner registers workers and sets prices; it can touch nobody's wei
    constructor(address owner, Prices memory _prices) EIP712("AgentOracle", "1") Ownable(owner) {
        _setPrices(_prices);
    }

    // ---- Requests

    /// @inheritdoc IAgentOracle
    function request(Order calldata order) external payable returns (uint256 requestId, uint256 budgetId) {
        if (order.arguments.length > MAX_ARGUMENTS_BYTES) {
            revert ArgumentsTooLong(order.arguments.length, MAX_ARGUMENTS_BYTES);
        }
        _requireRange("timeout", order.timeout, 1, MAX_TIMEOUT);
        budgetId = order.budgetId;
        if (budgetId == 0) budgetId = _openBudget(order);
        else if (msg.value != 0) revert WrongValue(msg.value, 0);

        Budget storage budget = budgets[budgetId];
        if (budget.client != msg.sender || budget.released) revert BudgetNotUsable(budgetId);
        uint128 fee = budget.fee;
        if (budget.balance < fee) revert BudgetExhausted(budgetId, budget.balance, fee);
        budget.balance -= fee;

        requestId = uint256(keccak256(abi.encode(block.chainid, address(this), msg.sender, ++requestCount)));
        Commitment memory commitment = Commitment({
            requestId: requestId,
            client: msg.sender,
            budgetId: budgetId,
            argumentsHash: keccak256(order.arguments),
            callbackGasLimit: budget.callbackGasLimit,
            fee: fee,
            blockNumber: uint64(block.number),
            deadline: uint64(block.timestamp) + order.timeout
        });
        commitmentOf[requestId] = keccak256(abi.encode(commitment));
        emit AgentRequested(requestId, msg.sender, commitment, order.arguments);
    }

    /// @inheritdoc IAgentOracle
    function release(uint256 budgetId) external {
        Budget storage budget = budgets[budgetId];
        if (budget.client == address(0) || budget.released) revert BudgetNotUsable(budgetId);
        if (msg.sender != budget.client && block.timestamp < budget.releasableAt) {
            revert BudgetNotReleasable(budgetId, budget.releasableAt);
        }
        uint256 amount = budget.balance;
        budget.balance = 0;
        budget.released = true;
        emit BudgetReleased(budgetId, amount);
        _giveBack(budget, amount);
    }

    // ---- Answers

    /// @inheritdoc IAgentOracle
    function answer(
        Commitment calldata commitment,
        Answer calldata answer_,
        Evidence calldata evidence,
        bytes calldata signature
    ) external nonReentrant returns (bool delivered) {
        address worker = _take(commitment, answer_, evidence, signature);
        emit RequestAnswered(commitment.requestId, worker, answer_.refused, evidence, signature);
        return _accept(commitment, answer_, worker);
    }

    /// @inheritdoc IAgentOracle
    function expire(Commitment calldata commitment) external nonReentrant returns (bool delivered) {
        _requireWaiting(commitment);
        if (block.timestamp <= commitment.deadline) revert TooEarly(commitment.requestId, commitment.deadline);
        return _expire(commitment);
    }

    /// @inheritdoc IAgentOracle
    function retry(uint256 requestId) external nonReentrant returns (bool delivered) {
        Record storage record = records[requestId];
        if (record.outcome == Outcome.None || record.delivered) revert NothingToRetry(requestId);
        bytes memory data = abi.encodeCall(
            IAgentOracleClient.handleAnswer, (requestId, record.outcome, DataAsCode.read(record.output))
        );
        uint256 gasLimit = ExactGasCall.most(GAS_AFTER_CALLBACK);
        if (gasLimit < record.callbackGasLimit) gasLimit = record.callbackGasLimit; // the call below then refuses
        return _callBack(requestId, record.client, gasLimit, data);
    }

    /// @inheritdoc IAgentOracle
    function withdraw(address payable to) external nonReentrant returns (uint256 amount) {
        return _payOut(msg.sender, to);
    }

    /// @inheritdoc IAgentOracle
    function withdrawFor(address account) external nonReentrant returns (uint256 amount) {
        return _payOut(account, payable(account));
    }

    // ---- Subscriptions

    /// @notice Creates a subscription, which the caller owns. Its value is paid in.
    function subscribe() external payable nonReentrant returns (uint64 subscriptionId) {
        subscriptionId = ++subscriptionCount;
        subscriptions[subscriptionId].owner = msg.sender;
        emit SubscriptionCreated(subscriptionId, msg.sender);
        if (msg.value > 0) _fund(subscriptionId);
    }

    /// @notice Pays the call's value into a subscription. For everybody.
    function fund(uint64 subscriptionId) external payable nonReentrant {
        if (subscriptions[subscriptionId].owner == address(0)) revert SubscriptionNotUsable(subscriptionId, msg.sender);
        _fund(subscriptionId);
    }

    /// @notice Lets a client open budgets from a subscription, or forbids it. For the subscription's owner.
    function setConsumer(uint64 subscriptionId, address client, bool allowed) external nonReentrant {
        _requireSubscriptionOwner(subscriptionId);
        isConsumer[subscriptionId][client] = allowed;
        emit ConsumerSet(subscriptionId, client, allowed);
    }

    /// @notice Ends a subscription; its balance becomes claimable. For its owner. Open budgets go on.
    function cancel(uint64 subscriptionId) external nonReentrant {
        _requireSubscriptionOwner(subscriptionId);
        Subscription storage subscription = subscriptions[subscriptionId];
        uint256 amount = subscription.balance;
        subscription.balance = 0;
        lastOwnerOf[subscriptionId] = subscription.owner;
        subscription.owner = address(0);
        emit SubscriptionCancelled(subscriptionId, amount);
        _credit(msg.sender, amount);
    }

    /// @notice Returns who owned a subscription that was cancelled.
    mapping(uint64 subscriptionId => address) public lastOwnerOf;

    // ---- For the owner

    /// @notice Registers a worker, or removes it. For the owner. A removed worker keeps what it earned.
    function setWorker(address worker, bool registered) external onlyOwner nonReentrant {
        bool changed = registered ? workerSet.add(worker) : workerSet.remove(worker);
        if (changed) emit WorkerSet(worker, registered);
    }

    /// @notice Sets the prices of new budgets. For the owner. Open budgets keep theirs.
    function setPrices(Prices calldata _prices) external onlyOwner nonReentrant {
        _setPrices(_prices);
    }

    // ---- Views

    /// @inheritdoc IAgentOracle
    function answerOf(uint256 requestId)
        external
        view
        returns (Outcome outcome, bytes memory output, address worker, bool delivered)
    {
        Record storage record = records[requestId];
        return (record.outcome, DataAsCode.read(record.output), record.worker, record.delivered);
    }

    /// @inheritdoc IAgentOracle
    function feeOf(uint32 callbackGasLimit) public view returns (uint256) {
        return prices.inference + uint256(prices.gasPrice) * (uint256(callbackGasLimit) + prices.answerGas);
    }

    /// @inheritdoc IAgentOracle
    function workers() external view returns (address[] memory) {
        return workerSet.values();
    }

    /// @notice Tells whether a worker is registered.
    function isWorker(address worker) public view returns (bool) {
        return workerSet.contains(worker);
    }

    /// @notice Returns what a worker signs for an answer (EIP-712).
    function digestOf(uint256 requestId, bytes32 argumentsHash, bool refused, Evidence calldata evidence)
        public
        view
        returns (bytes32)
    {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(
                    EVIDENCE_TYPE,
                    requestId,
                    argumentsHash,
                    refused,
                    evidence.blockHash,
                    evidence.modelDigest,
                    evidence.profileFingerprint,
                    evidence.promptHash,
                    evidence.outputHash
                )
            )
        );
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view virtual override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IAgentOracle).interfaceId || super.supportsInterface(interfaceId);
    }

    // ---- What a subclass may change

    /// @dev Decides what a checked answer does: here it is final at once.
    function _accept(Commitment calldata commitment, Answer calldata answer_, address worker)
        internal
        virtual
        returns (bool delivered)
    {
        delete commitmentOf[commitment.requestId];
        _credit(worker, commitment.fee);
        return _settle(
            commitment, answer_.refused ? Outcome.Refused : Outcome.Answered, DataAsCode.write(answer_.output), worker
        );
    }

    // ---- Shared with subclasses

    /// @dev Checks an answer whole and returns its worker.
    function _take(
        Commitment calldata commitment,
        Answer calldata answer_,
        Evidence calldata evidence,
        bytes calldata signature
    ) internal view returns (address worker) {
        uint256 requestId = commitment.requestId;
        _requireWaiting(commitment);
        if (block.timestamp > commitment.deadline) revert TooLate(requestId, commitment.deadline);
        if (answer_.output.length > MAX_OUTPUT_BYTES) revert OutputTooLong(answer_.output.length, MAX_OUTPUT_BYTES);
        bytes32 outputHash = keccak256(answer_.output);
        if (evidence.outputHash != outputHash) revert WrongOutputHash(evidence.outputHash, outputHash);
        bytes32 blockHash = blockhash(commitment.blockNumber); // zero for this block and for those older than 256
        if (blockHash != 0 && evidence.blockHash != blockHash) {
            revert WrongBlock(commitment.blockNumber, evidence.blockHash, blockHash);
        }
        worker = ECDSA.recover(digestOf(requestId, commitment.argumentsHash, answer_.refused, evidence), signature);
        if (!workerSet.contains(worker)) revert NotWorker(worker);
    }

    function _requireWaiting(Commitment calldata commitment) internal view {
        if (commitmentOf[commitment.requestId] != keccak256(abi.encode(commitment))) {
            revert UnknownCommitment(commitment.requestId);
        }
    }

    /// @dev Records a final outcome and calls the client.
    function _settle(Commitment calldata commitment, Outcome outcome, address output, address worker)
        internal
        returns (bool)
    {
        records[commitment.requestId] = Record({
            client: commitment.client,
            callbackGasLimit: commitment.callbackGasLimit,
            outcome: outcome,
            delivered: false,
            worker: worker,
            output: output
        });
        bytes memory data = abi.encodeCall(
            IAgentOracleClient.handleAnswer, (commitment.requestId, outcome, DataAsCode.read(output))
        );
        return _callBack(commitment.requestId, commitment.client, commitment.callbackGasLimit, data);
    }

    function _expire(Commitment calldata commitment) internal returns (bool) {
        delete commitmentOf[commitment.requestId];
        Budget storage budget = budgets[commitment.budgetId];
        if (budget.released) _giveBack(budget, commitment.fee);
        else budget.balance += commitment.fee;
        emit RequestExpired(commitment.requestId);
        return _settle(commitment, Outcome.Expired, address(0), address(0));
    }

    function _credit(address account, uint256 amount) internal {
        if (amount == 0) return;
        claimable[account] += amount;
        emit Credited(account, amount);
    }

    function _requireRange(string memory member, uint256 value, uint256 lowest, uint256 highest) internal pure {
        if (value < lowest || value > highest) revert OutOfRange(member, value, lowest, highest);
    }

    // ---- Private

    function _payOut(address account, address payable to) private returns (uint256 amount) {
        amount = claimable[account];
        if (amount == 0) revert NothingToWithdraw(account);
        claimable[account] = 0;
        emit Withdrawn(account, to, amount);
        Address.sendValue(to, amount);
    }

    function _callBack(uint256 requestId, address client, uint256 gasLimit, bytes memory data)
        private
        returns (bool success)
    {
        bytes memory returned;
        (success, returned) = ExactGasCall.call(client, gasLimit, GAS_AFTER_CALLBACK, data);
        if (success) records[requestId].delivered = true;
        emit CallbackFinished(requestId, success, returned);
    }

    function _openBudget(Order calldata order) private returns (uint256 budgetId) {
        _requireRange("steps", order.steps, 1, type(uint16).max);
        _requireRange("callbackGasLimit", order.callbackGasLimit, 0, MAX_CALLBACK_GAS);
        _requireRange("lifetime", order.lifetime, order.timeout, MAX_LIFETIME);
        uint256 fee = feeOf(order.callbackGasLimit);
        uint256 amount = fee * order.steps;
        if (order.subscriptionId == 0) {
            if (msg.value < amount) revert WrongValue(msg.value, amount);
            amount = msg.value;
        } else {
            if (msg.value != 0) revert WrongValue(msg.value, 0);
            _takeFromSubscription(order.subscriptionId, amount);
        }

        budgetId = ++budgetCount;
        address payer = order.payer == address(0) ? msg.sender : order.payer;
        budgets[budgetId] = Budget({
            client: msg.sender,
            subscriptionId: order.subscriptionId,
            callbackGasLimit: order.callbackGasLimit,
            released: false,
            payer: payer,
            releasableAt: uint64(block.timestamp) + order.lifetime,
            fee: SafeCast.toUint128(fee),
            balance: SafeCast.toUint128(amount)
        });
        emit BudgetOpened(budgetId, msg.sender, order.subscriptionId, payer, amount);
    }

    function _takeFromSubscription(uint64 subscriptionId, uint256 amount) private {
        Subscription storage subscription = subscriptions[subscriptionId];
        if (subscription.owner == address(0) || !isConsumer[subscriptionId][msg.sender]) {
            revert SubscriptionNotUsable(subscriptionId, msg.sender);
        }
        if (subscription.balance < amount) revert SubscriptionExhausted(subscriptionId, subscription.balance, amount);
        subscription.balance -= uint128(amount);
    }

    function _giveBack(Budget storage budget, uint256 amount) private {
        uint64 subscriptionId = budget.subscriptionId;
        if (subscriptionId == 0) _credit(budget.payer, amount);
        else if (subscriptions[subscriptionId].owner == address(0)) _credit(lastOwnerOf[subscriptionId], amount);
        else subscriptions[subscriptionId].balance += uint128(amount);
    }

    function _fund(uint64 subscriptionId) private {
        subscriptions[subscriptionId].balance += SafeCast.toUint128(msg.value);
        emit SubscriptionFunded(subscriptionId, msg.value);
    }

    function _requireSubscriptionOwner(uint64 subscriptionId) private view {
        if (subscriptions[subscriptionId].owner != msg.sender) revert NotSubscriptionOwner(subscriptionId, msg.sender);
    }

    function _setPrices(Prices memory _prices) private {
        prices = _prices;
        emit PricesSet(_prices);
    }
}
