// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title What a tool is: its code, and what models read of it
/// @notice The metadata functions are the same in both versions.
library ToolIdentity {
    /// @notice Returns the hash of a tool's name, description and parameters.
    function metadataHash(address tool) internal view returns (bytes32) {
        IERCAgentTool described = IERCAgentTool(tool);
        return keccak256(abi.encode(described.name(), described.description(), described.inputDescription()));
    }
}
