// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ExactGasCall} from "../callback/ExactGasCall.sol";
import {IAgentOracle, Order} from "../callback/IAgentOracle.sol";
import {IAgentOracleClient, Outcome} from "../callback/IAgentOracleClient.sol";

/// @title Lets contracts that were written for another oracle ask an AgentOracle
/// @notice A contract asks the adapter, the adapter asks the oracle, and calls the contract with the answer.
///   - The contract is called with exactly the gas that it asked for. If it fails, that is recorded, and anybody may
///     `retry` with more.
///   - What a contract paid over the fee, and the fee of a request that expired, are refundable: anybody may send them to
///     it by `sendRefund`.
abstract contract OracleAdapter is IAgentOracleClient, ERC165, ReentrancyGuard {
    /// @notice A request of a contract.
    /// @param account who asked; refunds are its
    /// @param target is called with the answer; zero: nobody is
    /// @param gasLimit gas of that call
    /// @param worker who answered
    /// @param outcome None before the answer
    /// @param delivered whether the target took the answer
    /// @param createdAt in seconds since 1970
    /// @param deadline the last second in which the oracle takes an answer
    struct Query {
        address account;
        uint64 createdAt;
        address target;
        uint64 deadline;
        Outcome outcome;
        bool delivered;
        uint32 gasLimit;
        uint128 fee;
        uint256 oracleRequestId;
        uint256 budgetId;
    }

    /// @notice The contract was called with an answer.
    /// @param success false: `returned` is the start of its revert data, and `retry` may be called
    event AnswerPassedOn(uint256 indexed requestId, address indexed target, bool success, bytes returned);

    /// @notice An account may get `amount` wei back.
    event Refundable(address indexed account, uint256 amount);

    /// @notice An account got its wei back.
    event Refunded(address indexed account, uint256 amount);

    /// @notice Somebody else than the oracle called.
    error NotOracle(address caller);

    /// @notice The value is less than the fee.
    error InsufficientFee(uint256 value, uint256 fee);

    /// @notice The adapter calls neither itself nor its oracle for others: it has wei there.
    error ForbiddenTarget(address target);

    /// @notice There is no such request, or it has its answer.
    error UnknownRequest(uint256 requestId);

    /// @notice The request has no answer yet, or its contract has taken it.
    error NothingToRetry(uint256 requestId);

    /// @notice The account has nothing to get back.
    error NothingToRefund(address account);

    /// @dev Gas for what follows the call of the contract: the record, the event and the return.
    uint256 internal constant GAS_AFTER_CALL = 40_000;

    /// @notice The oracle that is asked.
    IAgentOracle public immutable oracle;

    /// @notice Gas of a callback that the adapter needs itself.
    uint32 public immutable ownGas;

    /// @notice How many requests were made; the last one's number.
    uint256 public requestCount;

    /// @notice Returns what an account may get back, in wei.
    mapping(address account => uint256) public refundable;

    /// @notice Returns a request.
    mapping(uint256 requestId => Query) public queries;

    mapping(uint256 oracleRequestId => uint256) private requestIdOf;

    constructor(IAgentOracle _oracle, uint32 _ownGas) {
        oracle = _oracle;
        ownGas = _ownGas;
    }

    /// @notice Takes what the oracle gives back.
    receive() external payable {
        if (msg.sender != address(oracle)) revert NotOracle(msg.sender);
    }

    /// @inheritdoc IAgentOracleClient
    function handleAnswer(uint256 oracleRequestId, Outcome outcome, bytes calldata output) external nonReentrant {
        if (msg.sender != address(oracle)) revert NotOracle(msg.sender);
        uint256 requestId = requestIdOf[oracleRequestId];
        Query storage query = queries[requestId];
        if (query.account == address(0) || query.outcome != Outcome.None) revert UnknownRequest(requestId);
        query.outcome = outcome;
        if (outcome == Outcome.Expired) {
            // It fails only if somebody released the budget after its lifetime; then the fee has come back already.
            try oracle.release(query.budgetId) {} catch {}
            _refund(query.account, query.fee);
        }
        _passOn(requestId, query.gasLimit, outcome, output);
    }

    /// @notice Calls a contract that failed once more, with all gas of this call. For everybody.
    function retry(uint256 requestId) external nonReentrant returns (bool delivered) {
        Query storage query = queries[requestId];
        if (query.outcome == Outcome.None || query.delivered) revert NothingToRetry(requestId);
        (Outcome outcome, bytes memory output,,) = oracle.answerOf(query.oracleRequestId);
        _passOn(requestId, 0, outcome, output);
        return query.delivered;
    }

    /// @notice Sends an account what it gets back. For everybody.
    function sendRefund(address account) external nonReentrant returns (uint256 amount) {
        amount = refundable[account];
        if (amount == 0) revert NothingToRefund(account);
        refundable[account] = 0;
        if (address(this).balance < amount) oracle.withdraw(payable(address(this)));
        emit Refunded(account, amount);
        Address.sendValue(payable(account), amount);
    }

    /// @inheritdoc ERC165
    function supportsInterface(bytes4 interfaceId) public view virtual override returns (bool) {
        return interfaceId == type(IAgentOracleClient).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @dev Returns the calldata for the contract that asked; none: it is not called.
    function _callbackOf(uint256 requestId, Outcome outcome, bytes memory output)
        internal
        virtual
        returns (bytes memory data);

    /// @dev Gas of the oracle's callback, so that the contract gets `gasLimit`.
    function _callbackGas(uint256 gasLimit) internal view returns (uint32) {
        return SafeCast.toUint32(gasLimit + gasLimit / 63 + ownGas);
    }

    function _feeOf(uint256 gasLimit) internal view returns (uint256) {
        return oracle.feeOf(_callbackGas(gasLimit));
    }

    /// @dev Asks the oracle. The caller's value pays.
    function _ask(bytes memory arguments, address target, uint256 gasLimit, uint32 timeout)
        internal
        returns (uint256 requestId)
    {
        if (target == address(oracle) || target == address(this)) revert ForbiddenTarget(target);
        uint256 fee = _feeOf(gasLimit);
        if (msg.value < fee) revert InsufficientFee(msg.value, fee);
        Order memory order = Order({
            arguments: arguments,
            budgetId: 0,
            subscriptionId: 0,
            payer: address(this),
            steps: 1,
            callbackGasLimit: _callbackGas(gasLimit),
            lifetime: timeout,
            timeout: timeout
        });
        (uint256 oracleRequestId, uint256 budgetId) = oracle.request{value: fee}(order);
        requestId = ++requestCount;
        requestIdOf[oracleRequestId] = requestId;
        queries[requestId] = Query({
            account: msg.sender,
            createdAt: uint64(block.timestamp),
            target: target,
            deadline: uint64(block.timestamp) + timeout,
            outcome: Outcome.None,
            delivered: false,
            gasLimit: uint32(gasLimit),
            fee: uint128(fee),
            oracleRequestId: oracleRequestId,
            budgetId: budgetId
        });
        if (msg.value > fee) _refund(msg.sender, msg.value - fee);
    }

    /// @param gasLimit 0: all that is left, and at least what the contract asked for
    function _passOn(uint256 requestId, uint256 gasLimit, Outcome outcome, bytes memory output) private {
        Query storage query = queries[requestId];
        bytes memory data = _callbackOf(requestId, outcome, output);
        if (query.target == address(0) || data.length == 0) {
            query.delivered = true;
            return;
        }
        if (gasLimit == 0) {
            gasLimit = ExactGasCall.most(GAS_AFTER_CALL);
            if (gasLimit < query.gasLimit) gasLimit = query.gasLimit; // the call below then refuses
        }
        (bool success, bytes memory returned) = ExactGasCall.call(query.target, gasLimit, GAS_AFTER_CALL, data);
        query.delivered = success;
        emit AnswerPassedOn(requestId, query.target, success, returned);
    }

    function _refund(address account, uint256 amount) private {
        refundable[account] += amount;
        emit Refundable(account, amount);
    }
}
