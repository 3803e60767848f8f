// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title An agent for its owner and callers whom the owner allowed
/// @notice A run that is not done reverts with `RunOutcome.NotDone`, so a request moves all that it asks for, or nothing.
abstract contract DeskAgent is IERCAgent, Ownable2Step {
    /// @notice The owner hasn't allowed this caller to run the agent.
    error CallerNotAllowed(address caller);

    /// @notice The owner allowed a caller to run the agent, or forbade it.
    event CallerSet(address indexed caller, bool allowed);

    mapping(address caller => bool) private allowed;

    modifier onlyCaller() {
        if (!isCaller(msg.sender)) revert CallerNotAllowed(msg.sender);
        _;
    }

    /// @notice Runs the agent for the owner, or for a caller whom the owner allowed.
    /// @inheritdoc IERCAgent
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        onlyCaller
        returns (int256 runId, string memory result)
    {
        return (-1, _runOrRevert(_promptOf(input)));
    }

    /// @notice Allows a caller to run the agent, or forbids it. For the owner.
    function setCaller(address caller, bool isAllowed) external onlyOwner {
        allowed[caller] = isAllowed;
        emit CallerSet(caller, isAllowed);
    }

    /// @notice Tells whether this address may run the agent. The owner always may.
    function isCaller(address caller) public view returns (bool) {
        return caller == owner() || allowed[caller];
    }
}
