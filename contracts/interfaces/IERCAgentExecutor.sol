// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "./IERCAgentTool.sol";

/// @notice What the agent's model decided in one iteration of the reasoning loop.
/// @param isFinalAnswer true if the agent has completed its task and arrived at a final answer
/// @param finalAnswer the agent's answer to its task, only present when isFinalAnswer is true
/// @param tool the tool that the agent wants to use, only present when isFinalAnswer is false
/// @param toolInput the input for that tool, only present when isFinalAnswer is false
/// @param agentReasoning thought, action and action input, only present when isFinalAnswer is false
struct AgentIterationResult {
    bool isFinalAnswer;
    string finalAnswer;
    IERCAgentTool tool;
    IERCAgentTool.Input toolInput;
    string agentReasoning;
}

/// @title Executes single iterations of an agent's reasoning loop
/// @notice On pyevm-agents chains this is the precompile at address 0x19, with the typed errors of
///   IAgentExecutorErrors.
interface IERCAgentExecutor {
    /// @notice Executes a single iteration of the agent's reasoning loop.
    /// @param modelId the LLM that runs the agent: its name, or the 0x-prefixed SHA-256 digest of its weights
    /// @param basePrompt the high-level description of what the agent should aim for; passed to the LLM
    /// @param tools the tools that the agent can use
    /// @param agentReasoning the `AgentIterationResult.agentReasoning` of every earlier iteration of this run,
    ///   in order. Empty entries at the end are ignored, so the array may be allocated at its final length.
    /// @param toolResults the result of every earlier tool invocation as a string, in the same order; of the
    ///   same length as agentReasoning
    /// @param prompt the input of this run, for example the instruction of a user
    /// @return what to do next: answer, or use a tool
    function runNextIteration(
        string memory modelId,
        string memory basePrompt,
        IERCAgentTool[] memory tools,
        string[] memory agentReasoning,
        string[] memory toolResults,
        string memory prompt
    ) external returns (AgentIterationResult memory);
}
