// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERCAgent} from "contracts/IERCAgent.sol";
import {IERCAgentTool} from "contracts/interfaces/IERCAgentTool.sol";

/// @title An agent that works for other agents
/// @notice Its runs have no numbers of their own: they are part of the run of the agent that asks.
contract HelperAgent is IERCAgent {
    constructor(
        address executor,
        string memory model,
        string memory name_,
        string memory description_,
        string memory inputDescription_,
        string memory prompt,
        IERCAgentTool[] memory tools_,
        uint16 maxIterations
    ) IERCAgent(executor, model, name_, description_, inputDescription_, prompt, tools_, maxIterations) {}

    /// @inheritdoc IERCAgent
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        returns (int256 runId, string memory result)
    {
        result = _run(_promptOf(input));
        currentRunId = 0;
        return (-1, result);
    }
}
