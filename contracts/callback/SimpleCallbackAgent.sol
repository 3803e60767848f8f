// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {CallbackAgent} from "./CallbackAgent.sol";

/// @title A CallbackAgent made of constructor arguments
/// @notice For people, `ask` a question in plain words. Anybody may, with their own wei. Its tools see the agent as
///   `msg.sender`: don't give it tools that act on what the agent owns, or strangers will use them through it.
contract SimpleCallbackAgent is CallbackAgent {
    /// @notice The arguments are those of CallbackAgent.
    constructor(
        OracleSettings memory _settings,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        string memory _basePrompt,
        IERCAgentTool[] memory _tools,
        uint16 _agentMaxIterations
    )
        CallbackAgent(
            _settings, _modelId, _name, _description, _inputDescription, _basePrompt, _tools, _agentMaxIterations
        )
    {}
}
