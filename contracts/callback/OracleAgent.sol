// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IAgentOracle} from "./IAgentOracle.sol";

/// @title What agents by callback have in common, of either version of the ERC: their oracle, payers and callers
/// @dev Inherit CallbackAgent or CallbackAgentV1, not this. The deployer owns an agent.
abstract contract OracleAgent is Ownable2Step {
    /// @notice Where a run is. From Answered on it has ended.
    /// @dev UsingTool is seen only by what a tool calls. Answered: done. NotDone: the answer says why the run is not done, by
    ///   `RunOutcome.isDone`; the steps before stand.
    enum Status {
        None,
        AskingModel,
        UsingTool,
        AwaitingTool,
        Answered,
        ToolFailed,
        Refused,
        MalformedAnswer,
        OutOfIterations,
        DeadlinePassed,
        RequestFailed,
        NotDone
    }

    /// @notice What the agent asks of its oracle.
    /// @param oracle where its requests go
    /// @param callbackGasLimit gas of each callback: storing the step, the tool, the next request
    /// @param stepTimeout seconds in which a worker must answer
    /// @param runTimeout seconds after which anybody may end a run
    struct OracleSettings {
        IAgentOracle oracle;
        uint32 callbackGasLimit;
        uint32 stepTimeout;
        uint32 runTimeout;
    }

    /// @notice The owner set the subscription that pays for `run`.
    event SubscriptionSet(uint64 subscriptionId);

    /// @notice The owner allowed a caller to use `run`, or forbade it.
    event CallerSet(address indexed caller, bool allowed);

    /// @notice The agent has no subscription. Call `ask` with value, or let the owner call `setSubscription`.
    error NoSubscription();

    /// @notice The owner hasn't allowed this caller to run the agent.
    error CallerNotAllowed(address caller);

    /// @notice Somebody else than the oracle handed in an answer.
    error NotOracle(address caller);

    /// @notice The tool used up its gas. Call `retry` of the oracle with more.
    error ToolOutOfGas(address tool);

    /// @notice The oracle was called with too little gas. Repeat the call with more.
    error OracleOutOfGas();

    /// @notice The most bytes that a tool may return.
    uint256 public constant MAX_TOOL_RESULT_BYTES = 16_384;

    string public constant FAILURE_PREFIX = "FAILED: ";

    IAgentOracle public immutable oracle;
    uint32 public immutable callbackGasLimit;
    uint32 public immutable stepTimeout;
    uint32 public immutable runTimeout;
    uint16 public immutable agentMaxIterations;

    /// @notice The subscription that pays for `run`; 0: none.
    uint64 public subscriptionId;

    mapping(address caller => bool) private allowed;

    /// @param _settings the oracle and what is asked of it
    /// @param _agentMaxIterations how many times a run asks the model at most. All but the last can use a tool.
    constructor(OracleSettings memory _settings, uint16 _agentMaxIterations) Ownable(msg.sender) {
        oracle = _settings.oracle;
        callbackGasLimit = _settings.callbackGasLimit;
        stepTimeout = _settings.stepTimeout;
        runTimeout = _settings.runTimeout;
        agentMaxIterations = _agentMaxIterations;
    }

    /// @notice Returns what a run reserves, in wei: the fee of every step that it may have.
    function costOfRun() external view returns (uint256) {
        return oracle.feeOf(callbackGasLimit) * agentMaxIterations;
    }

    /// @notice Tells whether this address may use `run`. The owner always may.
    function isCaller(address caller) public view returns (bool) {
        return caller == owner() || allowed[caller];
    }

    // ---- For the owner

    /// @notice Sets the subscription that pays for `run`; 0: none. For the owner.
    function setSubscription(uint64 _subscriptionId) external onlyOwner {
        subscriptionId = _subscriptionId;
        emit SubscriptionSet(_subscriptionId);
    }

    /// @notice Allows a caller to use `run`, or forbids it. For the owner.
    function setCaller(address caller, bool isAllowed) external onlyOwner {
        allowed[caller] = isAllowed;
        emit CallerSet(caller, isAllowed);
    }

    // ---- What a subclass may change

    /// @dev Decides who may start a run: with their own value anybody, from the subscription those who were allowed.
    function _authorize(address caller, bool fromSubscription) internal view virtual {
        if (fromSubscription && !isCaller(caller)) revert CallerNotAllowed(caller);
    }

    // ---- For its versions

    /// @dev A tool that ran out of gas has not failed: the callback reverts, so that it can be repeated with more. After
    ///   such a call one 64th is left (EIP-150), and one 64th more for each contract between the tool and the one that ran
    ///   out; the tool's revert data are that contract's or its own. So a failure that leaves less than one eighth counts
    ///   as running out. If it was another one, a call with more gas shows it.
    function _callTool(address tool, bytes memory data) internal returns (bool success, bytes memory output) {
        if (tool.code.length == 0) return (false, "");
        uint256 gasBefore = gasleft();
        uint256 size;
        assembly ("memory-safe") {
            success := call(gas(), tool, 0, add(data, 32), mload(data), 0, 0)
            size := returndatasize()
        }
        if (!success && gasleft() < gasBefore / 8) revert ToolOutOfGas(tool);
        if (size > MAX_TOOL_RESULT_BYTES) return (success, "");
        output = new bytes(size);
        assembly ("memory-safe") {
            returndatacopy(add(output, 32), 0, size)
        }
    }

    /// @dev The oracle's errors have data. Without any it ran out of gas: what follows is undone, to be repeated with more.
    function _requireReason(bytes memory reason) internal pure {
        if (reason.length == 0) revert OracleOutOfGas();
    }

    /// @dev Does not touch the zero address, which is the coinbase of some blocks: what it costs would depend on that.
    function _hasCode(address account) internal view returns (bool) {
        return account != address(0) && account.code.length != 0;
    }

    function _isFailure(string memory result) internal pure returns (bool) {
        return bytes8(bytes(result)) == "FAILED: ";
    }
}
