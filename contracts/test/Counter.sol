// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title A number that anybody can increase, to see what a failure rolls back
contract Counter {
    /// @notice `addThenFail` was called; `number` is what it would have become.
    error Failed(uint256 number);

    event Added(uint256 amount, uint256 number);

    uint256 public number;

    function add(uint256 amount) public {
        number += amount;
        emit Added(amount, number);
    }

    function addThenFail(uint256 amount) external {
        add(amount);
        revert Failed(number);
    }
}
