// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable2Step, Ownable} from "@openzeppelin/contracts/access/Ownable2Step.sol";

/// @title A value whose owner changes in two steps
contract TwoStepValue is Ownable2Step {
    /// @notice The stored value.
    uint256 public value;

    /// @param owner_ who may store
    constructor(address owner_) Ownable(owner_) {}

    /// @notice Stores a value. For the owner.
    function store(uint256 value_) external onlyOwner {
        value = value_;
    }

    /// @notice Stores zero. For the owner.
    function clear() external onlyOwner {
        value = 0;
    }
}
