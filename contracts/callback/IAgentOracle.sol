// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {Outcome} from "./IAgentOracleClient.sol";

/// @notice What a client asks for, and who pays for it.
/// @param arguments calldata for the executor: `abi.encodeCall(IERCAgentExecutor.runNextIteration, (…))`, at most
///   65,536 bytes
/// @param budgetId the budget that pays; 0 opens a new one
/// @param subscriptionId for a new budget: the subscription that fills it; 0: the call's value does
/// @param payer for a new budget that value fills: who gets back what is left of it
/// @param steps for a new budget: how many requests it pays for, at least 1
/// @param callbackGasLimit for a new budget: gas of each callback, at most 11,000,000
/// @param lifetime for a new budget: seconds after which anybody may release it, at most 30 days
/// @param timeout seconds in which a worker must answer, at most 7 days
struct Order {
    bytes arguments;
    uint256 budgetId;
    uint64 subscriptionId;
    address payer;
    uint16 steps;
    uint32 callbackGasLimit;
    uint32 lifetime;
    uint32 timeout;
}

/// @notice A request as the oracle knows it. The oracle stores its hash alone; `AgentRequested` has its members.
/// @param argumentsHash keccak256 of `Order.arguments`
/// @param fee in wei, of the worker that answers
/// @param blockNumber the block of the request. The answer is the executor's on the state after that block.
/// @param deadline in seconds since 1970; the last second in which an answer is taken
struct Commitment {
    uint256 requestId;
    address client;
    uint256 budgetId;
    bytes32 argumentsHash;
    uint32 callbackGasLimit;
    uint128 fee;
    uint64 blockNumber;
    uint64 deadline;
}

/// @notice What the executor returned or reverted with.
/// @param refused false: `output` is an `AgentIterationResult`. true: it is one of `IAgentExecutorErrors`.
/// @param output at most 24,575 bytes
struct Answer {
    bool refused;
    bytes output;
}

/// @notice What somebody needs in order to compute an answer again. Its worker signs it (EIP-712).
/// @param blockHash hash of the request's block
/// @param modelDigest SHA-256 of the model's file; zero for a refusal before a model was chosen
/// @param profileFingerprint the engine's build and settings
/// @param promptHash keccak256 of the prompt that the model read, as UTF-8 text; zero for a refusal before there was one
/// @param outputHash keccak256 of `Answer.output`
struct Evidence {
    bytes32 blockHash;
    bytes32 modelDigest;
    bytes32 profileFingerprint;
    bytes32 promptHash;
    bytes32 outputHash;
}

/// @title Asks off-chain workers for the executor's answers
interface IAgentOracle is IERC165 {
    /// @notice A client asks for an answer.
    event AgentRequested(
        uint256 indexed requestId, address indexed client, Commitment commitment, bytes arguments
    );

    /// @notice A worker's answer was taken. Its fee is credited and `answerOf` has its output, at once or, where answers can
    ///   be challenged, once it is final.
    event RequestAnswered(
        uint256 indexed requestId, address indexed worker, bool refused, Evidence evidence, bytes signature
    );

    /// @notice Nobody answered in time. The fee went back to the budget, or to who paid for it.
    event RequestExpired(uint256 indexed requestId);

    /// @notice The client was called.
    /// @param success false: `returned` is the start of its revert data, and `retry` may be called
    /// @param returned at most 132 bytes
    event CallbackFinished(uint256 indexed requestId, bool success, bytes returned);

    /// @notice A budget was filled with `amount` wei.
    event BudgetOpened(
        uint256 indexed budgetId, address indexed client, uint64 subscriptionId, address payer, uint256 amount
    );

    /// @notice What was left of a budget, `amount` wei, went back to who paid for it.
    event BudgetReleased(uint256 indexed budgetId, uint256 amount);

    /// @notice An account may withdraw `amount` wei more.
    event Credited(address indexed account, uint256 amount);

    /// @notice An account withdrew its claimable wei.
    event Withdrawn(address indexed account, address to, uint256 amount);

    /// @notice Asks for an answer. The fee comes from a budget; a new one is filled for `order.steps` requests.
    /// @dev The value must be zero, or at least the new budget's amount; what is more stays in the budget.
    /// @return requestId of this request
    /// @return budgetId to pay for the next ones
    function request(Order calldata order) external payable returns (uint256 requestId, uint256 budgetId);

    /// @notice Gives back what is left of a budget. For its client; for anybody once its lifetime is over.
    function release(uint256 budgetId) external;

    /// @notice Hands in an answer, which a registered worker signed. Anybody may send it; the signer gets the fee.
    /// @dev Reverts, and changes nothing, unless the callback gets all the gas that its budget promised.
    /// @return delivered whether the client took the answer
    function answer(Commitment calldata commitment, Answer calldata answer_, Evidence calldata evidence, bytes calldata signature)
        external
        returns (bool delivered);

    /// @notice Ends a request after its deadline and tells its client. For everybody.
    function expire(Commitment calldata commitment) external returns (bool delivered);

    /// @notice Calls a client that failed once more, with all gas of this call. For everybody.
    function retry(uint256 requestId) external returns (bool delivered);

    /// @notice Sends the caller's claimable wei to an address.
    function withdraw(address payable to) external returns (uint256 amount);

    /// @notice Sends an account its claimable wei, to itself. For everybody.
    function withdrawFor(address account) external returns (uint256 amount);

    /// @notice Returns the answer to a request; kept for ever.
    /// @return outcome None while there is no answer
    /// @return output `Answer.output`
    /// @return worker who answered
    /// @return delivered whether the client took it
    function answerOf(uint256 requestId)
        external
        view
        returns (Outcome outcome, bytes memory output, address worker, bool delivered);

    /// @notice Returns the hash of a request that waits for an answer; zero for all others.
    function commitmentOf(uint256 requestId) external view returns (bytes32);

    /// @notice Returns the fee of one request, in wei.
    function feeOf(uint32 callbackGasLimit) external view returns (uint256);

    /// @notice Returns what an account may withdraw, in wei.
    function claimable(address account) external view returns (uint256);

    /// @notice Returns the registered workers. Worker `(requestId + turn) % count` answers in turn 0, 1, ….
    function workers() external view returns (address[] memory);
}
