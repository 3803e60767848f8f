// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title An oracle that promises its arbiter much and pays nothing
contract LyingOracle {
    /// @notice Takes any ruling.
    function rule(uint256, bytes32, bytes32) external pure {}

    /// @notice Says that it paid one ether.
    function withdraw(address payable) external pure returns (uint256) {
        return 1 ether;
    }

    /// @notice Says that one ether waits.
    function claimable(address) external pure returns (uint256) {
        return 1 ether;
    }
}
