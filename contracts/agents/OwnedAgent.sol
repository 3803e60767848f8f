// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERCAgent} from "../IERCAgent.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title An agent that only its owner may run
/// @notice For tools that act on what the agent's account owns, such as those of AbiToolFactory: deploy an
///   AgentAccount, create its tools, register them, deploy this agent with them, and set it as the account's agent.
///   A run that is not done reverts with `RunOutcome.NotDone`, so an instruction moves all that it asks for, or nothing.
contract OwnedAgent is IERCAgent, Ownable2Step {
    /// @notice Creates the agent; its first owner, then the arguments of IERCAgent.
    constructor(
        address initialOwner,
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
        Ownable(initialOwner)
    {}

    /// @notice Runs the agent. For the owner.
    /// @inheritdoc IERCAgent
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        onlyOwner
        returns (int256 runId, string memory result)
    {
        return (-1, _runOrRevert(_promptOf(input)));
    }

    /// @notice Does what `run` does, for people: takes the instruction as a plain string. For the owner.
    /// @param prompt for example "Swap 0.01 ETH for USDC"
    /// @return answer the agent's answer
    function instruct(string memory prompt) external onlyOwner returns (string memory answer) {
        return _runOrRevert(prompt);
    }
}
