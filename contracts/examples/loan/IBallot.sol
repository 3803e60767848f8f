// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What the tools of a voting agent call
interface IBallot {
    /// @notice Returns the text of the proposal that the agent votes on. For the agent's tools.
    function read() external returns (string memory);

    /// @notice Votes on it. For the agent's tools.
    /// @param support 0 against, 1 for, 2 abstain
    function vote(uint8 support, string memory reason) external;
}
