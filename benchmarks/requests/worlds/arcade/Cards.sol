// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Trading cards, which their owners can lend
contract TradingCards is ERC721, Ownable {
    struct Loan {
        address borrower;
        uint256 numberOfDays;
    }

    error NotCardOwner(address caller);
    error AlreadyLent(uint256 cardId);
    error NotLent(uint256 cardId);
    error BadLoan(uint256 numberOfDays);

    event Lent(uint256 indexed cardId, address indexed borrower, uint256 numberOfDays);
    event LoanEnded(uint256 indexed cardId);

    mapping(uint256 cardId => Loan) public loans;
    mapping(uint256 cardId => string) public nicknames;

    constructor() ERC721("Meteor Cards", "METEOR") Ownable(msg.sender) {}

    modifier onlyCardOwner(uint256 cardId) {
        if (ownerOf(cardId) != msg.sender) revert NotCardOwner(msg.sender);
        _;
    }

    function mint(address to, uint256 cardId) external onlyOwner {
        _mint(to, cardId);
    }

    /// @notice Lends a card for games; the owner keeps it.
    /// @param cardId number of the card
    /// @param borrower who may play with it
    /// @param numberOfDays for how long, at most 90
    function lendCard(uint256 cardId, address borrower, uint256 numberOfDays) external onlyCardOwner(cardId) {
        _lend(cardId, borrower, numberOfDays);
    }

    /// @notice Enters a loan that was agreed on paper.
    function importLoan(uint256 cardId, address borrower, uint256 numberOfDays) external onlyOwner {
        _lend(cardId, borrower, numberOfDays);
    }

    /// @notice Ends the loan of a card.
    /// @param cardId number of the card
    function endLoan(uint256 cardId) external onlyCardOwner(cardId) {
        if (loans[cardId].borrower == address(0)) revert NotLent(cardId);
        delete loans[cardId];
        emit LoanEnded(cardId);
    }

    /// @notice Tells for how many days a card is lent.
    /// @param cardId number of the card
    function loanDays(uint256 cardId) external view returns (uint256) {
        return loans[cardId].numberOfDays;
    }

    /// @notice Gives a card a nickname.
    /// @param cardId number of the card
    /// @param nickname at most 32 bytes
    function setNickname(uint256 cardId, string calldata nickname) external onlyCardOwner(cardId) {
        require(bytes(nickname).length <= 32, "nickname too long");
        nicknames[cardId] = nickname;
    }

    function _lend(uint256 cardId, address borrower, uint256 numberOfDays) private {
        if (numberOfDays == 0 || numberOfDays > 90) revert BadLoan(numberOfDays);
        if (loans[cardId].borrower != address(0)) revert AlreadyLent(cardId);
        loans[cardId] = Loan(borrower, numberOfDays);
        emit Lent(cardId, borrower, numberOfDays);
    }
}

/// @title Auctions of trading cards
contract CardAuctions is ERC721Holder, Ownable {
    struct Auction {
        address seller;
        uint256 cardId;
        uint256 reservePrice;
        uint256 durationHours;
        address payable highestBidder;
        uint256 highestBid;
        bool isOpen;
    }

    error NotSeller(address caller);
    error NotOpen(uint256 auctionId);
    error BidTooLow(uint256 highestBid);
    error HasBids(uint256 auctionId);
    error BadDuration(uint256 durationHours);

    event AuctionStarted(uint256 indexed auctionId, address indexed seller, uint256 cardId, uint256 reservePrice);
    event BidPlaced(uint256 indexed auctionId, address indexed bidder, uint256 amount);
    event AuctionCancelled(uint256 indexed auctionId);

    IERC721 public immutable cards;
    uint256 public auctionCount;
    mapping(uint256 auctionId => Auction) public auctions;

    constructor(IERC721 _cards) Ownable(msg.sender) {
        cards = _cards;
    }

    /// @notice Puts a card up for auction.
    /// @param cardId number of the card
    /// @param reservePrice the least bid, in wei
    /// @param durationHours how long bids are taken, 1 to 168
    /// @return auctionId number of the auction
    function startAuction(uint256 cardId, uint256 reservePrice, uint256 durationHours)
        external
        returns (uint256 auctionId)
    {
        return _start(msg.sender, cardId, reservePrice, durationHours);
    }

    /// @notice Puts a card of the house up for auction in the name of somebody else.
    function startAuctionFor(address seller, uint256 cardId, uint256 reservePrice, uint256 durationHours)
        external
        onlyOwner
        returns (uint256 auctionId)
    {
        return _start(seller, cardId, reservePrice, durationHours);
    }

    /// @notice Bids for the card of an auction; the payment is the bid. The earlier bidder gets theirs back.
    /// @param auctionId number of the auction
    function bid(uint256 auctionId) external payable {
        Auction storage auction = _open(auctionId);
        if (msg.value < auction.reservePrice || msg.value <= auction.highestBid) {
            revert BidTooLow(auction.highestBid);
        }
        (address payable earlier, uint256 amount) = (auction.highestBidder, auction.highestBid);
        (auction.highestBidder, auction.highestBid) = (payable(msg.sender), msg.value);
        if (earlier != address(0)) Address.sendValue(earlier, amount);
        emit BidPlaced(auctionId, msg.sender, msg.value);
    }

    /// @notice Cancels an auction without bids and returns the card.
    /// @param auctionId number of the auction
    function cancelAuction(uint256 auctionId) external {
        Auction storage auction = _open(auctionId);
        if (auction.seller != msg.sender) revert NotSeller(msg.sender);
        if (auction.highestBid > 0) revert HasBids(auctionId);
        auction.isOpen = false;
        cards.transferFrom(address(this), msg.sender, auction.cardId);
        emit AuctionCancelled(auctionId);
    }

    function _start(address seller, uint256 cardId, uint256 reservePrice, uint256 durationHours)
        private
        returns (uint256 auctionId)
    {
        if (durationHours == 0 || durationHours > 168) revert BadDuration(durationHours);
        auctionId = ++auctionCount;
        Auction storage auction = auctions[auctionId];
        (auction.seller, auction.cardId, auction.isOpen) = (seller, cardId, true);
        (auction.reservePrice, auction.durationHours) = (reservePrice, durationHours);
        cards.transferFrom(msg.sender, address(this), cardId);
        emit AuctionStarted(auctionId, seller, cardId, reservePrice);
    }

    function _open(uint256 auctionId) private view returns (Auction storage auction) {
        auction = auctions[auctionId];
        if (!auction.isOpen) revert NotOpen(auctionId);
    }
}
