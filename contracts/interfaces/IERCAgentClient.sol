// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Receives the results of asynchronous agent runs
interface IERCAgentClient {
    /// @notice Passes the result of an agent run back to the contract that asked for it.
    /// @dev Implementations must verify that the sender is the agent to which they issued the request.
    /// @param runId the run ID that the agent's `run` returned
    /// @param result the final answer of the agent; `RunOutcome.isDone` tells whether the run is done
    function handleAgentResult(int256 runId, string memory result) external;
}
