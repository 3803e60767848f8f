// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract ArtMarket {
    using SafeERC20 for IERC20;

    struct Listing {
        address seller;
        uint256 price;
    }

    error NotOwner();
    error NotListed();
    error AlreadyListed();
    error NotSeller();
    error OwnItem();
    error ZeroPrice();

    event Listed(uint256 indexed tokenId, address seller, uint256 price);
    event Sold(uint256 indexed tokenId, address buyer);
    event Cancelled(uint256 indexed tokenId);

    IERC721 public immutable collection;
    IERC20 public immutable currency;
    mapping(uint256 => Listing) public listings;

    constructor(IERC721 _collection, IERC20 _currency) {
        collection = _collection;
        currency = _currency;
    }

    function list(uint256 tokenId, uint256 price) external {
        if (collection.ownerOf(tokenId) != msg.sender) revert NotOwner();
        if (listings[tokenId].seller == msg.sender) revert AlreadyListed();
        if (price == 0) revert ZeroPrice();
        listings[tokenId] = Listing(msg.sender, price);
        emit Listed(tokenId, msg.sender, price);
    }

    function buy(uint256 tokenId) external {
        Listing memory listing = listings[tokenId];
        if (listing.seller == address(0)) revert NotListed();
        if (listing.seller == msg.sender) revert OwnItem();
        delete listings[tokenId];
        currency.safeTransferFrom(msg.sender, listing.seller, listing.price);
        collection.transferFrom(listing.seller, msg.sender, tokenId);
        emit Sold(tokenId, msg.sender);
    }

    function cancel(uint256 tokenId) external {
        if (listings[tokenId].seller != msg.sender) revert NotSeller();
        delete listings[tokenId];
        emit Cancelled(tokenId);
    }

    function priceOf(uint256 tokenId) external view returns (uint256) {
        if (listings[tokenId].seller == address(0)) revert NotListed();
        return listings[tokenId].price;
    }
}
