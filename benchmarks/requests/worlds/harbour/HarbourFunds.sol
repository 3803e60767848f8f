// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract HarbourToken is ERC20, Ownable {
    uint8 private immutable _decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) ERC20(name_, symbol_) Ownable(msg.sender) {
        _decimals = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return _decimals;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title Money that is put aside for repairs of the piers
contract RepairFund {
    using SafeERC20 for IERC20;

    error TooLittleSaved(uint256 saved);

    IERC20 public immutable currency;
    mapping(address saver => uint256) private savings;

    constructor(IERC20 currency_) {
        currency = currency_;
    }

    /// @notice Puts money into the repair fund.
    /// @param amount how much
    function deposit(uint256 amount) external {
        depositFor(msg.sender, amount);
    }

    /// @notice Puts money of the caller into the repair fund for somebody else.
    /// @param saver whose it is from now on
    /// @param amount how much
    function depositFor(address saver, uint256 amount) public {
        savings[saver] += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Takes money out of the repair fund.
    /// @param amount how much
    function withdraw(uint256 amount) external {
        uint256 saved = savings[msg.sender];
        if (amount > saved) revert TooLittleSaved(saved);
        savings[msg.sender] = saved - amount;
        currency.safeTransfer(msg.sender, amount);
    }

    /// @notice Tells how much the caller has in the repair fund.
    function savedByMe() external view returns (uint256 amount) {
        return savings[msg.sender];
    }
}

contract MooringAuction is Ownable {
    struct Lot {
        string mooring;
        uint256 minimumBid;
        bool isOpen;
    }

    uint256 public lotCount;
    mapping(uint256 => Lot) public lots;
    mapping(uint256 => mapping(address => uint256)) public bids;
    mapping(uint256 => uint256) private bidCounts;

    event BidPlaced(uint256 indexed lotId, address indexed bidder, uint256 amount);
    event BidWithdrawn(uint256 indexed lotId, address indexed bidder);

    constructor() Ownable(msg.sender) {}

    function addLot(string calldata mooring, uint256 minimumBid) external onlyOwner {
        lots[++lotCount] = Lot(mooring, minimumBid, true);
    }

    function closeLot(uint256 lotId) external onlyOwner {
        lots[lotId].isOpen = false;
    }

    function placeBid(uint256 lotId) external payable {
        _bid(lotId, msg.sender);
    }

    // Bids that were handed in on paper.
    function enterBid(uint256 lotId, address bidder) external payable onlyOwner {
        _bid(lotId, bidder);
    }

    function withdrawBid(uint256 lotId) external {
        uint256 amount = bids[lotId][msg.sender];
        require(amount > 0, "no bid");
        bids[lotId][msg.sender] = 0;
        bidCounts[lotId]--;
        (bool sent,) = msg.sender.call{value: amount}("");
        require(sent, "not sent");
        emit BidWithdrawn(lotId, msg.sender);
    }

    function _bid(uint256 lotId, address bidder) private {
        require(lots[lotId].isOpen, "lot is not open");
        require(bids[lotId][bidder] == 0, "bid already placed");
        require(msg.value >= lots[lotId].minimumBid, "bid too low");
        bids[lotId][bidder] = msg.value;
        bidCounts[lotId]++;
        emit BidPlaced(lotId, bidder, msg.value);
    }

    function numberOfBids(uint256 lotId) external view returns (uint256) {
        require(lotId > 0 && lotId <= lotCount, "no such lot");
        return bidCounts[lotId];
    }
}
