// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {IERCAgentV1} from "./IERCAgentV1.sol";

/// @title A version-1 agent that only its owner may run
/// @notice For tools that act on what an account owns, such as AccountToolV1: the account is the owner.
///   A run that is not done reverts with `RunOutcome.NotDone`, so an instruction moves all that it asks for, or nothing.
contract OwnedAgentV1 is IERCAgentV1, Ownable2Step {
    /// @notice Creates the agent; its first owner, then the arguments of IERCAgentV1.
    constructor(
        address initialOwner,
        address _agentExecutorContract,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        IERCAgentToolV1[] memory _tools,
        uint16 _agentMaxIterations
    )
        IERCAgentV1(
            _agentExecutorContract, _modelId, _name, _description, _inputDescription, _tools, _agentMaxIterations
        )
        Ownable(initialOwner)
    {}

    /// @notice Runs the agent. For the owner.
    /// @inheritdoc IERCAgentV1
    function run(IERCAgentToolV1.Input memory input, address)
        external
        override
        onlyOwner
        returns (uint256 runId, string memory result)
    {
        return (SYNCHRONOUS, _runOrRevert(_promptOf(input)));
    }
}
