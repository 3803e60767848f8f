// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

/// @title Receives the results of asynchronous runs of version-1 agents, in the first draft `IERCAgentClient`
interface IERCAgentClientV1 is IERC165 {
    /// @notice Passes the result of an agent run back to the contract that asked for it.
    /// @dev Implementations must verify that the sender is the agent to which they issued the request.
    /// @param runId the run ID that the agent's `run` returned
    /// @param result the final answer of the agent; `RunOutcome.isDone` tells whether the run is done
    function handleAgentResult(uint256 runId, string memory result) external;
}
