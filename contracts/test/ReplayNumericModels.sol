// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {INumericModels} from "../interfaces/INumericModels.sol";

/// @title Numeric models for tests in any EVM that answer again what the precompile at 0x1a answered
/// @notice Put its runtime code at 0x1a, then record the calls that `pyevm-agents export-replay` wrote. A call is
///   answered if its calldata is one of those. It costs the gas of an EVM.
/// @dev No constructor and no immutables: its runtime code is put at an address. Its storage is at a place of its own.
contract ReplayNumericModels is INumericModels {
    /// @notice The model was not recorded with this input.
    error InputNotRecorded(string modelId, int256[] input);

    /// @notice No description of the model was recorded.
    error ModelNotRecorded(string modelId);

    struct Recorded {
        mapping(bytes32 call => bytes) outputOf;
    }

    /// @dev Where its storage begins: other models may have stood at this address before.
    bytes32 private constant STORAGE = keccak256("pyevm-agents.ReplayNumericModels");

    /// @notice Adds an answer, or replaces that of the same call.
    /// @param call calldata of `runModel` or `describeModel`
    /// @param output what was returned, ABI-encoded
    function record(bytes calldata call, bytes calldata output) external {
        _recorded().outputOf[keccak256(call)] = output;
    }

    /// @inheritdoc INumericModels
    function runModel(string calldata modelId, int256[] calldata input) external view returns (int256[] memory) {
        bytes memory output = _recorded().outputOf[keccak256(msg.data)];
        if (output.length == 0) revert InputNotRecorded(modelId, input);
        return abi.decode(output, (int256[]));
    }

    /// @inheritdoc INumericModels
    function describeModel(string calldata modelId)
        external
        view
        returns (bytes32 digest, uint8[] memory inputDecimals, uint8[] memory outputDecimals, uint256 gas)
    {
        bytes memory output = _recorded().outputOf[keccak256(msg.data)];
        if (output.length == 0) revert ModelNotRecorded(modelId);
        return abi.decode(output, (bytes32, uint8[], uint8[], uint256));
    }

    function _recorded() private pure returns (Recorded storage recorded) {
        bytes32 slot = STORAGE;
        assembly ("memory-safe") {
            recorded.slot := slot
        }
    }
}
