// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {SimpleAgent} from "../../agents/SimpleAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title A SimpleAgent that people can ask in plain words
contract AskedAgent is SimpleAgent {
    /// @notice The arguments are those of IERCAgent.
    constructor(
        address _agentExecutorContract,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        string memory _basePrompt,
        IERCAgentTool[] memory _tools,
        uint16 _agentMaxIterations
    )
        SimpleAgent(
            _agentExecutorContract,
            _modelId,
            _name,
            _description,
            _inputDescription,
            _basePrompt,
            _tools,
            _agentMaxIterations
        )
    {}

    /// @notice Does what `run` does, with the prompt as a plain string.
    function ask(string memory prompt) external returns (string memory answer) {
        return _run(prompt);
    }
}
