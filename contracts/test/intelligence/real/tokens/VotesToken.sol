// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";

/// @title An ERC-20 token that votes
contract VotesToken is ERC20Permit, ERC20Votes, Ownable {
    /// @param owner_ gets the supply and may mint
    constructor(address owner_) ERC20("Votes Token", "VOTE") ERC20Permit("Votes Token") Ownable(owner_) {
        _mint(owner_, 1_000_000 ether);
    }

    /// @notice Creates `amount` base units for `to`. For the owner.
    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }

    /// @inheritdoc ERC20Permit
    function nonces(address holder) public view override(ERC20Permit, Nonces) returns (uint256) {
        return super.nonces(holder);
    }

    function _update(address from, address to, uint256 amount) internal override(ERC20, ERC20Votes) {
        super._update(from, to, amount);
    }
}
