// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {ResultRelay} from "./ResultRelay.sol";
import {ToolIdentity} from "./ToolIdentity.sol";

/// @title Pins what a tool is: the hash of its code, and its metadata
/// @notice Models read the texts that the tool had when it was pinned. A run compares code and metadata first.
/// @dev A proxy's code stays the same when its implementation changes: pin the implementation, or no proxy.
abstract contract ToolPin is ResultRelay {
    /// @notice There is no contract at the address.
    error ToolWithoutCode(address tool);

    /// @notice The tool has another code than it had.
    error CodeChanged(address tool, bytes32 pinned, bytes32 found);

    /// @notice The tool has another name or description, or other parameters, than it had.
    error MetadataChanged(address tool, bytes32 pinned, bytes32 found);

    /// @notice The tool.
    address public immutable pinnedTool;

    /// @notice The hash of its code.
    bytes32 public immutable pinnedCodeHash;

    /// @notice keccak256 of its name, description and parameters, encoded.
    bytes32 public immutable pinnedMetadataHash;

    string internal pinnedName;
    string internal pinnedDescription;
    IERCAgentTool.InputDescription internal pinnedInputDescription;

    constructor(address _tool, address _agent) ResultRelay(_tool, _agent) {
        if (_tool.code.length == 0) revert ToolWithoutCode(_tool);
        pinnedTool = _tool;
        pinnedCodeHash = _tool.codehash;
        pinnedMetadataHash = ToolIdentity.metadataHash(_tool);
        pinnedName = IERCAgentTool(_tool).name();
        pinnedDescription = IERCAgentTool(_tool).description();
        IERCAgentTool.InputDescription memory input = IERCAgentTool(_tool).inputDescription();
        for (uint256 i = 0; i < input.paramDescriptions.length; i++) {
            pinnedInputDescription.paramDescriptions.push(input.paramDescriptions[i]);
        }
    }

    /// @notice Tells whether the tool is still what it was.
    function isUnchanged() external view returns (bool) {
        return pinnedTool.codehash == pinnedCodeHash && ToolIdentity.metadataHash(pinnedTool) == pinnedMetadataHash;
    }

    /// @dev Reverts where the tool has changed.
    function _requireUnchanged() internal view {
        bytes32 code = pinnedTool.codehash;
        if (code != pinnedCodeHash) revert CodeChanged(pinnedTool, pinnedCodeHash, code);
        bytes32 metadata = ToolIdentity.metadataHash(pinnedTool);
        if (metadata != pinnedMetadataHash) revert MetadataChanged(pinnedTool, pinnedMetadataHash, metadata);
    }
}
