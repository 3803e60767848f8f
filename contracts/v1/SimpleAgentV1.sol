// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {IERCAgentV1} from "./IERCAgentV1.sol";

/// @title A version-1 agent made of constructor arguments, which anybody may run
/// @notice Don't give it tools that act on what the agent owns, or strangers will use them through it.
contract SimpleAgentV1 is IERCAgentV1 {
    /// @notice The arguments are those of IERCAgentV1.
    constructor(
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
    {}
}
