// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {IERCAgent} from "../IERCAgent.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {ConfirmedAgent} from "./ConfirmedAgent.sol";

/// @title An agent whose owner confirms all its writes
/// @notice An example of `ConfirmedAgent`. Anybody may ask it what needs no write.
contract OwnedConfirmedAgent is ConfirmedAgent, Ownable2Step {
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

    /// @notice Calls a contract as the agent, such as a token. For the owner.
    function withdraw(address target, uint256 value, bytes calldata data) external onlyOwner {
        if (data.length == 0) Address.sendValue(payable(target), value);
        else Address.functionCallWithValue(target, data, value);
    }

    function _confirmer() internal view override returns (address) {
        return owner();
    }
}
