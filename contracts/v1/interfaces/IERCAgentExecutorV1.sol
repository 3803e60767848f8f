// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentToolV1} from "./IERCAgentToolV1.sol";

/// @notice What the agent's model decided in one iteration of the reasoning loop.
/// @param isFinalAnswer true if the agent has completed its task and arrived at a final answer
/// @param finalAnswer the agent's answer to its task, only present when isFinalAnswer is true
/// @param tool the tool that the agent wants to use, only present when isFinalAnswer is false
/// @param toolInput the whole calldata for that tool, `abi.encodeCall(tool.run, (input, address(0)))`, only present when
///   isFinalAnswer is false
/// @param agentReasoning thought, action and action input, only present when isFinalAnswer is false
struct AgentIterationResult {
    bool isFinalAnswer;
    string finalAnswer;
    IERCAgentToolV1 tool;
    bytes toolInput;
    string agentReasoning;
}

/// @title Executes single iterations of a version-1 agent's reasoning loop, in the first draft `IERCAgentExecutor`
/// @notice On pyevm-agents chains this is the precompile at address 0x19, with the typed errors of IAgentExecutorErrors. It
///   answers `supportsInterface` as well.
interface IERCAgentExecutorV1 {
    /// @notice Executes a single iteration of the agent's reasoning loop.
    /// @param modelId the LLM that runs the agent: its name, or the 0x-prefixed SHA-256 digest of its weights
    /// @param agentName the agent's name; not in the prompt
    /// @param agentDescription what the agent should aim for; passed to the LLM
    /// @param tools the tools that the agent can use
    /// @param agentReasoning an entry for every earlier iteration of this run, in order: the
    ///   `AgentIterationResult.agentReasoning`, then a line `Observation: ` with the tool's result, in which line breaks and
    ///   control characters are escaped (`EscapedLine`). Empty entries at the end are ignored.
    /// @param prompt the input of this run, for example the instruction of a user
    /// @return what to do next: answer, or use a tool
    function runNextIteration(
        string memory modelId,
        string memory agentName,
        string memory agentDescription,
        IERCAgentToolV1[] memory tools,
        string[] memory agentReasoning,
        string memory prompt
    ) external returns (AgentIterationResult memory);
}
