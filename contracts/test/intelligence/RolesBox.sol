// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

/// @title RolesBox
/// @notice A value that accounts with a role set, and other ways to keep a list of accounts.
contract RolesBox is AccessControl {
    bytes32 public constant SETTER = keccak256("SETTER");
    uint256 public value;
    mapping(address account => uint256 one) public wards;
    mapping(address account => bool isListed) public listed;

    /// @param admin Gets the role of the admin, and is a ward.
    constructor(address admin) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        wards[admin] = 1;
        listed[admin] = true;
    }

    /// @notice Set the value.
    /// @param value_ Any.
    function setValue(uint256 value_) external onlyRole(SETTER) {
        value = value_;
    }

    /// @notice Set the value as an admin.
    /// @param value_ Any.
    function setValueAsAdmin(uint256 value_) external onlyRole(DEFAULT_ADMIN_ROLE) {
        value = value_;
    }

    /// @notice Set the value as a ward, as MakerDAO's contracts have them.
    /// @param value_ Any.
    function file(uint256 value_) external {
        require(wards[msg.sender] == 1, "not-authorized");
        value = value_;
    }

    /// @notice Set the value as a listed account. The reason is empty.
    /// @param value_ Any.
    function setListed(uint256 value_) external {
        require(listed[msg.sender]);
        value = value_;
    }
}
