// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title ItemBox
/// @notice An ERC-721 token that minters mint.
contract ItemBox is ERC721, AccessControl {
    bytes32 public constant MINTER = keccak256("MINTER");

    /// @param minter Admin and minter, and has item 1.
    constructor(address minter) ERC721("Item", "ITEM") {
        _grantRole(DEFAULT_ADMIN_ROLE, minter);
        _grantRole(MINTER, minter);
        _mint(minter, 1);
    }

    /// @notice Mint an item.
    /// @param to Gets it.
    /// @param item Its ID.
    function mint(address to, uint256 item) external onlyRole(MINTER) {
        _mint(to, item);
    }

    /// @notice Whether an interface is supported.
    /// @param id Of the interface.
    /// @return Whether it is.
    function supportsInterface(bytes4 id) public view override(ERC721, AccessControl) returns (bool) {
        return super.supportsInterface(id);
    }
}
