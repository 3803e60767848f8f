// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {AccessManager} from "@openzeppelin/contracts/access/manager/AccessManager.sol";

/// @title ManagedBox
/// @notice A value that accounts set whom an AccessManager admits.
contract ManagedBox is AccessManaged {
    uint256 public value;

    /// @param manager The AccessManager.
    constructor(address manager) AccessManaged(manager) {}

    /// @notice Set the value.
    /// @param value_ Any.
    function setValue(uint256 value_) external restricted {
        value = value_;
    }

    /// @notice Set the value; anybody may.
    /// @param value_ Any.
    function setFreely(uint256 value_) external {
        value = value_;
    }
}

/// @title BoxManager
/// @notice OpenZeppelin's AccessManager.
contract BoxManager is AccessManager {
    /// @param admin The first admin.
    constructor(address admin) AccessManager(admin) {}
}
