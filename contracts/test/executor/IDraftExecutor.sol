// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title The executor of the ERC's first draft, for tests that don't have OpenZeppelin
/// @notice `IERCAgentExecutorV1` without ERC-165; the ABI is the same.
interface IDraftExecutor {
    /// @notice The arguments of a version-1 tool.
    struct Input {
        IERCAgentTool.ParamValue[] params;
    }

    /// @notice What a version-1 agent does next.
    /// @param toolInput the calldata of `run(Input, address)`
    struct Result {
        bool isFinalAnswer;
        string finalAnswer;
        IERCAgentTool tool;
        bytes toolInput;
        string agentReasoning;
    }

    /// @notice Returns the next step of a run.
    function runNextIteration(
        string memory modelId,
        string memory agentName,
        string memory agentDescription,
        IERCAgentTool[] memory tools,
        string[] memory agentReasoning,
        string memory prompt
    ) external returns (Result memory);
}
