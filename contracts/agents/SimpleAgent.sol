// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgent} from "../IERCAgent.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title An agent that anybody may run
/// @notice Everything about it is given at deployment. Its tools see the agent as `msg.sender`: don't give it
///   tools that act on what the agent owns, or strangers will use them through it.
///   It returns an unsure answer as any other, and the steps before it stay: its caller asks `Unsure.isUnsure`.
contract SimpleAgent is IERCAgent {
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
        IERCAgent(
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
}
