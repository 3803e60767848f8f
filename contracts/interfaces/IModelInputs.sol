// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Gives numeric models values that are on the chain
interface IModelInputs {
    /// @notice Returns values for a model's input, in the decimals that the model takes.
    /// @param runner who runs the tool that asks, such as an agent
    /// @return one row or several, one after another; a tool evaluates its model for each row
    function modelInputs(address runner) external view returns (int256[] memory);
}
