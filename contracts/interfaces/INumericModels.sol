// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Evaluates numeric models in integers
/// @notice On pyevm-agents chains this is the precompile at address 0x1a. A model takes and gives fixed-point numbers:
///   with 4 decimals, 1.25 is 12500. The same model and input give the same output on every machine. Refusals are the
///   typed errors of INumericModelErrors.
interface INumericModels {
    /// @notice Evaluates a model. The gas depends on the model and on the sizes alone.
    /// @param modelId the model's name, or the 0x-prefixed SHA-256 digest of its file
    /// @param input as many values as the model takes, each in its range
    /// @return output as many values as the model gives
    function runModel(string memory modelId, int256[] memory input) external view returns (int256[] memory output);

    /// @notice Describes a model.
    /// @param modelId the model's name, or the 0x-prefixed SHA-256 digest of its file
    /// @return digest SHA-256 of the model's file
    /// @return inputDecimals of each value of the input
    /// @return outputDecimals of each value of the output
    /// @return gas what `runModel` uses, without the call itself
    function describeModel(string memory modelId)
        external
        view
        returns (bytes32 digest, uint8[] memory inputDecimals, uint8[] memory outputDecimals, uint256 gas);
}
