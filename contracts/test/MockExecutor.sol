// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentExecutor, AgentIterationResult} from "../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title An executor that says what a test told it to say
/// @notice Every iteration takes the next scripted step, whichever agent asks, and logs what it was asked.
contract MockExecutor is IERCAgentExecutor {
    /// @notice The script has no more steps.
    error ScriptEnded(uint256 steps);

    event IterationAsked(
        string modelId,
        string basePrompt,
        IERCAgentTool[] tools,
        string[] agentReasoning,
        string[] toolResults,
        string prompt
    );

    struct Step {
        bool reverts;
        bytes data;
    }

    Step[] script;
    uint256 public position;

    /// @notice Adds a step that answers with this result.
    function willReturn(AgentIterationResult memory result) external {
        script.push(Step(false, abi.encode(result)));
    }

    /// @notice Adds a step that reverts with these bytes.
    function willRevert(bytes memory data) external {
        script.push(Step(true, data));
    }

    /// @inheritdoc IERCAgentExecutor
    function runNextIteration(
        string memory modelId,
        string memory basePrompt,
        IERCAgentTool[] memory tools,
        string[] memory agentReasoning,
        string[] memory toolResults,
        string memory prompt
    ) external returns (AgentIterationResult memory) {
        emit IterationAsked(modelId, basePrompt, tools, agentReasoning, toolResults, prompt);
        if (position == script.length) revert ScriptEnded(position);
        Step memory step = script[position++];
        bool reverts = step.reverts;
        bytes memory data = step.data;
        assembly ("memory-safe") {
            if reverts { revert(add(data, 32), mload(data)) }
            return(add(data, 32), mload(data))
        }
    }
}
