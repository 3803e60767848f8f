// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";
import {ERC721Pausable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Pausable.sol";
import {ERC721Royalty} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Royalty.sol";

/// @title An ERC-721 token with royalties, which its owner can pause
contract RoyaltyCollectible is ERC721Burnable, ERC721Pausable, ERC721Royalty, Ownable {
    /// @param owner_ may mint, pause and set royalties
    constructor(address owner_) ERC721("Royalty Collectible", "ROYAL") Ownable(owner_) {}

    /// @notice Creates a token for `to`. For the owner.
    function mint(address to, uint256 tokenId) external onlyOwner {
        _mint(to, tokenId);
    }

    /// @notice Stops transfers. For the owner.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Allows transfers again. For the owner.
    function unpause() external onlyOwner {
        _unpause();
    }

    /// @notice Sets the royalty of all tokens, in basis points. For the owner.
    function setDefaultRoyalty(address receiver, uint96 basisPoints) external onlyOwner {
        _setDefaultRoyalty(receiver, basisPoints);
    }

    /// @notice Sets the royalty of a token, in basis points. For the owner.
    function setTokenRoyalty(uint256 tokenId, address receiver, uint96 basisPoints) external onlyOwner {
        _setTokenRoyalty(tokenId, receiver, basisPoints);
    }

    /// @inheritdoc ERC721Royalty
    function supportsInterface(bytes4 interfaceId) public view override(ERC721, ERC721Royalty) returns (bool) {
        return super.supportsInterface(interfaceId);
    }

    function _update(address to, uint256 tokenId, address auth)
        internal
        override(ERC721, ERC721Pausable)
        returns (address)
    {
        return super._update(to, tokenId, auth);
    }
}
