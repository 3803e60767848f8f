// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Turns the return data of a contract function into text
/// @notice The agent's model reads that text to understand what its use of a tool resulted in.
interface ToolResultConverter {
    /// @param result the ABI-encoded return data of the function
    /// @return the result in words
    function convertToString(bytes memory result) external returns (string memory);
}
