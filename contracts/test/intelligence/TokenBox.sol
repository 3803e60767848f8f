// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {ERC20Pausable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";

/// @title TokenBox
/// @notice An ERC-20 token that its owner mints and pauses.
contract TokenBox is ERC20, ERC20Burnable, ERC20Pausable, Ownable {
    /// @param owner_ Owns it, and has all tokens.
    constructor(address owner_) ERC20("Box", "BOX") Ownable(owner_) {
        _mint(owner_, 10 ** 30);
    }

    /// @notice Mint tokens.
    /// @param to Gets them.
    /// @param amount In base units.
    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }

    /// @notice Pause all transfers.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice End the pause.
    function unpause() external onlyOwner {
        _unpause();
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Pausable) {
        super._update(from, to, value);
    }
}
