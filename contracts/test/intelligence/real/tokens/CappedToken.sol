// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AccessControlDefaultAdminRules} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Capped} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Capped.sol";

/// @title An ERC-20 token of limited supply, with one admin and delays
contract CappedToken is ERC20Capped, AccessControlDefaultAdminRules {
    bytes32 public constant ISSUER_ROLE = keccak256("ISSUER_ROLE");

    /// @param admin the only holder of the default admin role
    /// @param issuer may issue
    constructor(address admin, address issuer)
        ERC20("Capped Token", "CAP")
        ERC20Capped(1_000_000 ether)
        AccessControlDefaultAdminRules(1 days, admin)
    {
        _grantRole(ISSUER_ROLE, issuer);
    }

    /// @notice Creates `amount` base units for `to`, up to the cap. For issuers.
    function issue(address to, uint256 amount) external onlyRole(ISSUER_ROLE) {
        _mint(to, amount);
    }

    /// @notice Destroys `amount` base units of `from`. For issuers.
    function redeem(address from, uint256 amount) external onlyRole(ISSUER_ROLE) {
        _burn(from, amount);
    }
}
