// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Keeps what a numeric model said, for the rest of the transaction
interface IModelOutput {
    /// @notice This account has had no output in this transaction.
    error NoOutput(address runner);

    /// @notice Returns the last output that this account had in this transaction. Rows follow one another.
    function lastOutput(address runner) external view returns (int256[] memory);
}
