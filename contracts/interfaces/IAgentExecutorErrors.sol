// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title The typed errors of the executor precompile at 0x19
/// @notice The precompile refuses a call by reverting with one of these; the rest of the gas is returned.
///   A call that runs out of gas halts as any other call does, without data. Sizes are in bytes.
interface IAgentExecutorErrors {
    /// @notice This chain, or the program that executes its code, has no executor at 0x19.
    ///   Use a chain whose configuration enables it; local forks in other EVMs can't run agents.
    error ExecutorUnavailable();

    /// @notice The call carried ether, which the executor doesn't accept. Call it without value.
    error ValueNotAccepted(uint256 value);

    /// @notice The executor was entered by DELEGATECALL or CALLCODE. Use CALL or STATICCALL.
    error DelegateCallNotAllowed();

    /// @notice The calldata doesn't start with a selector that the executor knows. `selector` is its first four
    ///   bytes, with zeros in place of those that it doesn't have. Call `IERCAgentExecutor.runNextIteration`.
    error UnknownSelector(bytes4 selector);

    /// @notice The calldata is larger than the executor reads. Shorten the prompts or the history.
    error CalldataTooLarge(uint256 size, uint256 limit);

    /// @notice The calldata isn't a well-formed ABI encoding of the arguments. Encode it with `abi.encodeCall`.
    error MalformedCalldata(string reason);

    /// @notice A string argument isn't valid UTF-8. `field` names the argument.
    error InvalidUtf8(string field);

    /// @notice The chain's configuration has no such model. Use one of its names, aliases or digests.
    error UnknownModel(string modelId);

    /// @notice The agent has more tools than the executor takes. Give it fewer, or put some behind another agent.
    error TooManyTools(uint256 count, uint256 limit);

    /// @notice There is no contract at the tool's address. Deploy the tool first.
    error ToolWithoutCode(address tool);

    /// @notice The tool's `name`, `description` or `inputDescription` failed, or used more gas than it may.
    ///   `selector` is the function's, `reason` its revert data (empty where there are none). Mend the tool.
    error ToolMetadataFailed(address tool, bytes4 selector, bytes reason);

    /// @notice The tool's metadata function returned more than the executor reads. Shorten the metadata.
    error ToolMetadataTooLarge(address tool, bytes4 selector, uint256 size, uint256 limit);

    /// @notice The tool's metadata function returned something else than the interface promises, or a name that the
    ///   executor doesn't take (see `IERCAgentTool.name`). Mend the tool.
    error MalformedToolMetadata(address tool, bytes4 selector, string reason);

    /// @notice Two tools of the agent have the same name, so the model couldn't choose. Rename one.
    error DuplicateToolName(string name);

    /// @notice Two parameters of the tool have the same name. Rename one.
    error DuplicateParameterName(address tool, string name);

    /// @notice The two history arrays differ in length. Append to both after every iteration.
    error HistoryLengthMismatch(uint256 agentReasoning, uint256 toolResults);

    /// @notice Entry `index` of the history isn't what the executor returned earlier. Pass
    ///   `AgentIterationResult.agentReasoning` back unchanged and in order.
    error MalformedHistory(uint256 index, string reason);

    /// @notice The prompt and the reserved output don't fit into the model's context, by `excessTokens`.
    ///   Shorten prompts or tool texts, or allow fewer iterations.
    error ContextTooLong(uint256 promptTokens, uint256 outputTokens, uint256 contextTokens, uint256 excessTokens);

    /// @notice The model didn't finish its step within `limit` tokens. Ask for less in one step.
    error OutputTooLong(uint256 limit);

    /// @notice The call stack is too deep to read the tools' metadata. Call the agent from fewer frames.
    error CallDepthExceeded();

    /// @notice A tool's metadata function called the executor while the executor was reading it. Mend the tool.
    error ReentrantMetadata();
}
