// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

/// @title ClubBox
/// @notice A club whose doormen admit members, and members alone vote. One role has no getter.
contract ClubBox is AccessControl {
    bytes32 public constant DOORMAN = keccak256("DOORMAN");
    uint256 public votes;
    mapping(address account => bool isMember) public isMember;

    /// @param admin Grants and revokes roles.
    /// @param doorman Admits.
    /// @param cashier Has the role `CASHIER_ROLE`.
    constructor(address admin, address doorman, address cashier) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(DOORMAN, doorman);
        _grantRole(keccak256("CASHIER_ROLE"), cashier);
    }

    /// @notice Admit a member. Needs the role DOORMAN.
    function admit(address account) external onlyRole(DOORMAN) {
        isMember[account] = true;
    }

    /// @notice Forget the votes. Needs CASHIER_ROLE.
    function reset() external onlyRole(keccak256("CASHIER_ROLE")) {
        votes = 0;
    }

    /// @notice Vote, as members may.
    function vote() external {
        require(isMember[msg.sender], "no member");
        votes++;
    }
}
