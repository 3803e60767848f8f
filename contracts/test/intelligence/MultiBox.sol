// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// @title MultiBox
/// @notice An ERC-1155 token that its owner mints.
contract MultiBox is ERC1155, Ownable {
    /// @param owner_ Owns it.
    constructor(address owner_) ERC1155("") Ownable(owner_) {}

    /// @notice Mint tokens.
    /// @param to Gets them.
    /// @param id Of the token.
    /// @param amount Of it.
    function mint(address to, uint256 id, uint256 amount) external onlyOwner {
        _mint(to, id, amount, "");
    }
}
