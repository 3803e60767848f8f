// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC721, IERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Wrapper} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Wrapper.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// @title Wraps the tokens of another ERC-721 contract
contract WrappedCollectible is ERC721Wrapper, Ownable, Pausable {
    string private _base;

    /// @param underlying_ whose tokens are wrapped
    /// @param owner_ pauses, names and recovers tokens
    constructor(IERC721 underlying_, address owner_)
        ERC721("Wrapped Collectible", "WCOLL")
        ERC721Wrapper(underlying_)
        Ownable(owner_)
    {}

    /// @notice Wraps a token that came without wrapping, for `account`. For the owner.
    function recover(address account, uint256 tokenId) external onlyOwner {
        _recover(account, tokenId);
    }

    /// @notice Sets the start of all URIs. For the owner.
    function setBaseURI(string calldata base) external onlyOwner {
        _base = base;
    }

    /// @notice Stops transfers. For the owner.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Lets transfers go on. For the owner.
    function unpause() external onlyOwner {
        _unpause();
    }

    function _update(address to, uint256 tokenId, address auth) internal override whenNotPaused returns (address) {
        return super._update(to, tokenId, auth);
    }

    function _baseURI() internal view override returns (string memory) {
        return _base;
    }
}
