// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract FareCoin is ERC20, Ownable {
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

/// @title Prepaid passes of travellers, and refunds of fares
contract FareDesk is Ownable {
    using SafeERC20 for IERC20;

    error NotThePurser(address caller);
    error NothingToLoad();
    error PassTooFull(address traveller, uint256 balance);
    error RefundPotTooLow(uint256 left);

    event PassLoaded(address indexed traveller, uint256 amount);
    event FareRefunded(address indexed passenger, uint256 amount);

    IERC20 public immutable currency;
    uint256 public immutable passLimit;
    address public purser;
    uint256 public refundPot;
    mapping(address traveller => uint256) private passes;

    constructor(IERC20 currency_, uint256 passLimit_) Ownable(msg.sender) {
        currency = currency_;
        passLimit = passLimit_;
    }

    function setPurser(address newPurser) external onlyOwner {
        purser = newPurser;
    }

    function fillRefundPot(uint256 amount) external {
        refundPot += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Loads money onto the prepaid pass of a traveller. A pass holds up to 500.
    /// @param traveller whose pass it is
    /// @param amount how much
    function loadPass(address traveller, uint256 amount) external {
        if (amount == 0) revert NothingToLoad();
        passes[traveller] += amount;
        if (passes[traveller] > passLimit) revert PassTooFull(traveller, passes[traveller]);
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit PassLoaded(traveller, amount);
    }

    /// @notice Refunds a fare to a passenger, from the refund pot.
    /// @param passenger who gets the money
    /// @param amount how much
    function refundFare(address passenger, uint256 amount) external {
        if (msg.sender != purser) revert NotThePurser(msg.sender);
        if (amount > refundPot) revert RefundPotTooLow(refundPot);
        refundPot -= amount;
        currency.safeTransfer(passenger, amount);
        emit FareRefunded(passenger, amount);
    }

    /// @notice Tells how much is on a traveller's pass.
    /// @param traveller whose pass it is
    /// @return balance how much is left
    function passBalance(address traveller) external view returns (uint256 balance) {
        return passes[traveller];
    }
}

contract FreightDeck is Ownable {
    struct Booking {
        address shipper;
        uint256 sailing;
        uint256 tons;
    }

    uint256 public constant CAPACITY = 40;
    uint256 public constant SAILINGS = 8;

    address public clerk;
    uint256 public bookingCount;
    mapping(uint256 => Booking) public bookings;
    mapping(uint256 => uint256) public loaded;

    event FreightBooked(uint256 indexed bookingId, address indexed shipper, uint256 sailing, uint256 tons);
    event FreightCancelled(uint256 indexed bookingId);

    modifier onlyClerk() {
        require(msg.sender == clerk || msg.sender == owner(), "not the clerk");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setClerk(address account) external onlyOwner {
        clerk = account;
    }

    function bookFreight(address shipper, uint256 sailing, uint256 tons) external onlyClerk returns (uint256 bookingId) {
        require(sailing > 0 && sailing <= SAILINGS, "no such sailing");
        require(tons > 0, "no freight");
        require(loaded[sailing] + tons <= CAPACITY, "deck full");
        loaded[sailing] += tons;
        bookingId = ++bookingCount;
        bookings[bookingId] = Booking(shipper, sailing, tons);
        emit FreightBooked(bookingId, shipper, sailing, tons);
    }

    function cancelFreight(uint256 bookingId) external onlyClerk {
        Booking memory booking = bookings[bookingId];
        require(booking.tons > 0, "no such booking");
        loaded[booking.sailing] -= booking.tons;
        delete bookings[bookingId];
        emit FreightCancelled(bookingId);
    }

    function tonsLeft(uint256 sailing) external view returns (uint256) {
        require(sailing > 0 && sailing <= SAILINGS, "no such sailing");
        return CAPACITY - loaded[sailing];
    }
}
