// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {DeskAgent} from "./DeskAgent.sol";
import {TradingTexts} from "./TradingTexts.sol";

/// @title The agent that the trading agent asks for weights
/// @notice Allow the trading agent with `setCaller`.
contract OptimizerAgent is DeskAgent {
    /// @dev A step with the tool, the answer, and one more.
    uint16 private constant ITERATIONS = 3;

    /// @param owner allows callers
    /// @param _agentExecutorContract a contract that implements IERCAgentExecutor; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _tools a MeanVarianceTool
    constructor(
        address owner,
        address _agentExecutorContract,
        string memory _modelId,
        IERCAgentTool[] memory _tools
    )
        IERCAgent(
            _agentExecutorContract,
            _modelId,
            TradingTexts.OPTIMIZER_NAME,
            TradingTexts.OPTIMIZER_DESCRIPTION,
            TradingTexts.OPTIMIZER_INPUT,
            TradingTexts.OPTIMIZER_PROMPT,
            _tools,
            ITERATIONS
        )
        Ownable(owner)
    {}
}
