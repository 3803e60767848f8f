// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {CallbackAgentV1} from "./CallbackAgentV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";

/// @title A CallbackAgentV1 made of constructor arguments
/// @notice Anybody may `ask` it, with their own wei. Don't give it tools that act on what the agent owns, or strangers will
///   use them through it.
contract SimpleCallbackAgentV1 is CallbackAgentV1 {
    /// @notice The arguments are those of CallbackAgentV1.
    constructor(
        OracleSettings memory _settings,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        IERCAgentToolV1[] memory _tools,
        uint16 _agentMaxIterations
    )
        CallbackAgentV1(_settings, _modelId, _name, _description, _inputDescription, _tools, _agentMaxIterations)
    {}
}
