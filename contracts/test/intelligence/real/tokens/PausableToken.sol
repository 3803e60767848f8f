// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Pausable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";

/// @title An ERC-20 token that stops while it is paused
contract PausableToken is ERC20Pausable, AccessControl {
    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");

    /// @param admin grants and revokes roles
    /// @param minter may mint
    /// @param pauser may pause
    constructor(address admin, address minter, address pauser) ERC20("Pausable Token", "PAUSE") {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(MINTER_ROLE, minter);
        _grantRole(PAUSER_ROLE, pauser);
    }

    /// @notice Creates `amount` base units for `to`. For minters.
    function mint(address to, uint256 amount) external onlyRole(MINTER_ROLE) {
        _mint(to, amount);
    }

    /// @notice Stops transfers. For pausers.
    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    /// @notice Allows transfers again. For pausers.
    function unpause() external onlyRole(PAUSER_ROLE) {
        _unpause();
    }
}
