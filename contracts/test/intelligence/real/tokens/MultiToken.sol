// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC6909} from "@openzeppelin/contracts/token/ERC6909/ERC6909.sol";
import {ERC6909Metadata} from "@openzeppelin/contracts/token/ERC6909/extensions/ERC6909Metadata.sol";

/// @title ERC-6909 tokens that their owner names
contract MultiToken is ERC6909Metadata, Ownable {
    /// @param owner_ may mint, burn and name tokens
    constructor(address owner_) Ownable(owner_) {}

    /// @notice Creates tokens for `to`. For the owner.
    function mint(address to, uint256 id, uint256 amount) external onlyOwner {
        _mint(to, id, amount);
    }

    /// @notice Destroys tokens of `from`. For the owner.
    function burn(address from, uint256 id, uint256 amount) external onlyOwner {
        _burn(from, id, amount);
    }

    /// @notice Sets name, symbol and decimals of a token. For the owner.
    function describe(uint256 id, string calldata name_, string calldata symbol_, uint8 decimals_)
        external
        onlyOwner
    {
        _setName(id, name_);
        _setSymbol(id, symbol_);
        _setDecimals(id, decimals_);
    }
}
