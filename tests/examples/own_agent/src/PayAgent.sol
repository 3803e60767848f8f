// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgent} from "@pyevm-agents/contracts/IERCAgent.sol";
import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";

/// @title An agent that pays people on its owner's instructions
contract PayAgent is IERCAgent {
    /// @notice Only the owner may instruct the agent.
    error CallerNotOwner(address caller);

    address public immutable owner;

    constructor(string memory basePrompt, IERCAgentTool[] memory tools)
        IERCAgent(
            address(0x19), // the executor
            "default", // the node's default model
            "PayAgent", // its name and description, for agents that use it as a tool
            "Pays people",
            "Whom to pay, and how much",
            basePrompt,
            tools,
            4 // steps of a run, at most
        )
    {
        owner = msg.sender;
    }

    /// @notice Runs the agent. A run that is not done reverts with `NotDone`: nothing is paid.
    function instruct(string memory prompt) external returns (string memory answer) {
        if (msg.sender != owner) revert CallerNotOwner(msg.sender);
        return _runOrRevert(prompt);
    }

    /// @dev As a tool of other agents it would spend for strangers, so `run` is the owner's, too.
    function run(IERCAgentTool.Input memory input, address) external override returns (int256, string memory) {
        if (msg.sender != owner) revert CallerNotOwner(msg.sender);
        return (-1, _runOrRevert(abi.decode(input.abiEncodedParams, (string))));
    }
}
