// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AgentIterationResult, IERCAgentExecutorV1} from "../../v1/interfaces/IERCAgentExecutorV1.sol";
import {IERCAgentToolV1} from "../../v1/interfaces/IERCAgentToolV1.sol";

/// @title Returns what a test sets, one result after the other
contract MockExecutorV1 is IERCAgentExecutorV1 {
    /// @notice An iteration was asked for.
    event IterationAsked(string agentName, string agentDescription, string[] agentReasoning, string prompt);

    bytes[] private results;
    uint256 private next;

    /// @notice Sets the next result.
    function willReturn(AgentIterationResult calldata result) external {
        results.push(abi.encode(result));
    }

    /// @inheritdoc IERCAgentExecutorV1
    function runNextIteration(
        string memory,
        string memory agentName,
        string memory agentDescription,
        IERCAgentToolV1[] memory,
        string[] memory agentReasoning,
        string memory prompt
    ) external returns (AgentIterationResult memory) {
        emit IterationAsked(agentName, agentDescription, agentReasoning, prompt);
        return abi.decode(results[next++], (AgentIterationResult));
    }
}
