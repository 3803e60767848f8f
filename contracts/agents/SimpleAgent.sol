// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgent} from "../IERCAgent.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title An agent that anybody may run
/// @notice Everything about it is given at deployment. Its tools see the agent as `msg.sender`: don't give it
///   tools that act on what the agent owns, or strangers will use them through it.
///   A run that is not done reverts with `RunOutcome.NotDone` if it used a tool. A refusal before any tool is returned as
///   the answer: its caller asks `RunOutcome.isDone`.
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
