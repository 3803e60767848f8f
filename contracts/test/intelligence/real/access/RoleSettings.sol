// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

/// @title Settings for which different roles are needed
contract RoleSettings is AccessControl {
    bytes32 public constant WRITER_ROLE = keccak256("WRITER_ROLE");
    bytes32 public constant GUARD_ROLE = keccak256("GUARD_ROLE");

    /// @notice The stored text.
    string public text;

    /// @notice The upper bound of amounts.
    uint128 public limit;

    /// @notice Whether writing is stopped.
    bool public isLocked;

    /// @notice Writing is stopped.
    error Locked();

    /// @param admin grants and revokes roles, and sets the limit
    /// @param writer may write
    /// @param guard may lock and unlock
    constructor(address admin, address writer, address guard) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(WRITER_ROLE, writer);
        _grantRole(GUARD_ROLE, guard);
    }

    /// @notice Stores a text. For writers, unless locked.
    function write(string calldata text_) external onlyRole(WRITER_ROLE) {
        if (isLocked) revert Locked();
        text = text_;
    }

    /// @notice Sets the limit. For admins.
    function setLimit(uint128 limit_) external onlyRole(DEFAULT_ADMIN_ROLE) {
        limit = limit_;
    }

    /// @notice Stops writing. For guards.
    function lock() external onlyRole(GUARD_ROLE) {
        isLocked = true;
    }

    /// @notice Allows writing again. For guards.
    function unlock() external onlyRole(GUARD_ROLE) {
        isLocked = false;
    }
}
