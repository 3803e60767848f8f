// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Keeps a buyer's money until the buyer releases it to the seller
/// @notice The term runs from the time at which the seller accepts the deal. Until then, and after the term, the buyer
///   can take the money back.
contract Deals {
    using SafeERC20 for IERC20;

    struct Deal {
        address buyer;
        address seller;
        uint256 amount;
        uint64 term;
        uint64 acceptedAt;
        bool isClosed;
    }

    error NotBuyer(uint256 dealId);
    error NotSeller(uint256 dealId);
    error Closed(uint256 dealId);
    error TermRuns(uint256 dealId);
    error NoTerm();

    event Opened(uint256 indexed dealId, address indexed buyer, address indexed seller, uint256 amount);
    event Accepted(uint256 indexed dealId);
    event Released(uint256 indexed dealId);
    event Refunded(uint256 indexed dealId);

    IERC20 public immutable token;

    mapping(uint256 dealId => Deal) public deals;
    uint256 public lastDealId;

    constructor(IERC20 token_) {
        token = token_;
    }

    /// @notice Puts money into escrow for a seller.
    /// @param seller who gets the money when it is released
    /// @param amount how much to put into escrow
    /// @param term how long the seller has after accepting the deal, in seconds
    function open(address seller, uint256 amount, uint64 term) external returns (uint256 dealId) {
        return openFor(msg.sender, seller, amount, term);
    }

    /// @notice Puts money into escrow in the name of a buyer.
    function openFor(address buyer, address seller, uint256 amount, uint64 term) public returns (uint256 dealId) {
        if (term == 0) revert NoTerm();
        dealId = ++lastDealId;
        deals[dealId] = Deal(buyer, seller, amount, term, 0, false);
        token.safeTransferFrom(msg.sender, address(this), amount);
        emit Opened(dealId, buyer, seller, amount);
    }

    /// @notice Accepts a deal; its term runs from now. For the seller.
    function accept(uint256 dealId) external {
        Deal storage deal = deals[dealId];
        if (msg.sender != deal.seller) revert NotSeller(dealId);
        if (deal.isClosed) revert Closed(dealId);
        deal.acceptedAt = uint64(block.timestamp);
        emit Accepted(dealId);
    }

    /// @notice Pays the seller of a deal. For the buyer.
    /// @param dealId the deal's number
    function release(uint256 dealId) external {
        Deal storage deal = _close(dealId);
        token.safeTransfer(deal.seller, deal.amount);
        emit Released(dealId);
    }

    /// @notice Gives the buyer the money of a deal back, before the seller accepts or after the term. For the buyer.
    /// @param dealId the deal's number
    function refund(uint256 dealId) external {
        Deal storage deal = _close(dealId);
        if (deal.acceptedAt != 0 && block.timestamp < deal.acceptedAt + deal.term) revert TermRuns(dealId);
        token.safeTransfer(deal.buyer, deal.amount);
        emit Refunded(dealId);
    }

    /// @notice Gives the seller of a deal more time. For the buyer.
    /// @param dealId the deal's number
    /// @param extraTime by how much the term grows, in seconds
    function extendTerm(uint256 dealId, uint64 extraTime) external {
        Deal storage deal = deals[dealId];
        if (msg.sender != deal.buyer) revert NotBuyer(dealId);
        if (deal.isClosed) revert Closed(dealId);
        deal.term += extraTime;
    }

    function _close(uint256 dealId) private returns (Deal storage deal) {
        deal = deals[dealId];
        if (msg.sender != deal.buyer) revert NotBuyer(dealId);
        if (deal.isClosed) revert Closed(dealId);
        deal.isClosed = true;
    }
}
