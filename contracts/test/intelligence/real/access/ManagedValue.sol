// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";

/// @title Values that an access manager guards
contract ManagedValue is AccessManaged {
    /// @notice The stored value.
    int64 public value;

    /// @notice Notes of anybody, by author.
    mapping(address author => bytes32 note) public noteOf;

    /// @param manager decides who may call
    constructor(address manager) AccessManaged(manager) {}

    /// @notice Stores a value. For whom the manager allows.
    function store(int64 value_) external restricted {
        value = value_;
    }

    /// @notice Stores zero. For whom the manager allows.
    function reset() external restricted {
        value = 0;
    }

    /// @notice Leaves a note. For everybody.
    function leaveNote(bytes32 note) external {
        noteOf[msg.sender] = note;
    }
}
