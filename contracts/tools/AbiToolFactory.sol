// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IAbiTool} from "./IAbiTool.sol";
import {AbiTool} from "./AbiTool.sol";
import {AbiToolCheck} from "./AbiToolCheck.sol";

/// @title Creates tools from data, without Solidity
/// @notice A tool's address is a function of its data alone, so anybody can see by `addressOf` that a tool is one of
///   this factory, and equal data make one tool.
contract AbiToolFactory {
    /// @notice The data are longer than a contract's code can be.
    error SpecTooLong(uint256 size, uint256 limit);

    /// @notice A tool was created.
    event ToolCreated(address indexed tool, address indexed account, address indexed target, bytes4 selector);

    /// @notice Bytes of a tool's encoded data. Source: EIP-170, less the code of a clone.
    uint256 public constant MAX_SPEC_BYTES = 24_576 - 45;

    /// @notice The code behind all tools.
    AbiTool public immutable implementation;

    /// @notice Creates a factory.
    constructor(AbiTool _implementation) {
        implementation = _implementation;
    }

    /// @notice Creates a tool, or returns the one that has these data.
    /// @dev Anybody may: a tool can do nothing before its account registers it.
    function create(IAbiTool.Spec memory spec) external returns (address tool) {
        AbiToolCheck.requireSound(spec);
        bytes memory data = _encode(spec);
        if (data.length > MAX_SPEC_BYTES) revert SpecTooLong(data.length, MAX_SPEC_BYTES);
        tool = _predict(data);
        if (tool.code.length != 0) return tool;
        Clones.cloneDeterministicWithImmutableArgs(address(implementation), data, 0);
        emit ToolCreated(tool, spec.call.account, spec.call.target, spec.call.selector);
    }

    /// @notice Returns the address of the tool that has these data, whether it exists or not.
    function addressOf(IAbiTool.Spec memory spec) external view returns (address) {
        return _predict(_encode(spec));
    }

    function _predict(bytes memory data) private view returns (address) {
        return Clones.predictDeterministicAddressWithImmutableArgs(address(implementation), data, 0);
    }

    /// @dev As AbiTool reads them: four lengths, then four values.
    function _encode(IAbiTool.Spec memory spec) private pure returns (bytes memory) {
        bytes memory name = abi.encode(spec.name);
        bytes memory description = abi.encode(spec.description);
        bytes memory input = abi.encode(spec.input);
        bytes memory call = abi.encode(spec.call);
        bytes memory lengths = abi.encodePacked(
            uint32(name.length), uint32(description.length), uint32(input.length), uint32(call.length)
        );
        return bytes.concat(lengths, name, description, input, call);
    }
}
