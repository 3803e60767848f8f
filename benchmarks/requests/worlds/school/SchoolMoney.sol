// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract SchoolToken is ERC20, Ownable {
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

/// @title Lunch cards of the pupils
contract Canteen {
    using SafeERC20 for IERC20;

    error EmptyTopUp();

    event CardLoaded(address indexed pupil, uint256 lunches);

    IERC20 public immutable lunch;
    mapping(address pupil => uint256) private cards;

    constructor(IERC20 lunch_) {
        lunch = lunch_;
    }

    /// @notice Loads lunches onto a pupil's lunch card.
    /// @param pupil whose card it is
    /// @param lunches how many
    function loadCard(address pupil, uint256 lunches) external {
        if (lunches == 0) revert EmptyTopUp();
        cards[pupil] += lunches;
        lunch.safeTransferFrom(msg.sender, address(this), lunches);
        emit CardLoaded(pupil, lunches);
    }

    /// @notice Tells how many lunches are on a pupil's card.
    /// @param pupil whose card it is
    /// @return lunches how many are left
    function lunchesLeft(address pupil) external view returns (uint256 lunches) {
        return cards[pupil];
    }
}

/// @title Money for school trips
contract TripFund is Ownable {
    using SafeERC20 for IERC20;

    struct Trip {
        string destination;
        uint256 collected;
        bool isClosed;
    }

    error NotTheBursar(address caller);
    error NoSuchTrip(uint256 tripId);
    error TripClosed(uint256 tripId);
    error FundTooLow(uint256 tripId, uint256 collected);

    event Contributed(uint256 indexed tripId, address indexed payer, uint256 amount);
    event BillPaid(uint256 indexed tripId, address indexed supplier, uint256 amount);
    event Closed(uint256 indexed tripId);

    IERC20 public immutable currency;
    address public bursar;
    uint256 public tripCount;
    mapping(uint256 tripId => Trip) public trips;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    modifier onlyBursar() {
        if (msg.sender != bursar) revert NotTheBursar(msg.sender);
        _;
    }

    function setBursar(address newBursar) external onlyOwner {
        bursar = newBursar;
    }

    function planTrip(string calldata destination) external onlyOwner returns (uint256 tripId) {
        tripId = ++tripCount;
        trips[tripId].destination = destination;
    }

    /// @notice Pays money into the fund of a trip.
    /// @param tripId number of the trip
    /// @param amount how much
    function contribute(uint256 tripId, uint256 amount) external {
        Trip storage trip = _open(tripId);
        trip.collected += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit Contributed(tripId, msg.sender, amount);
    }

    /// @notice Pays a bill out of the fund of a trip.
    /// @param tripId number of the trip
    /// @param supplier who gets the money
    /// @param amount how much
    function payBill(uint256 tripId, address supplier, uint256 amount) external onlyBursar {
        Trip storage trip = _open(tripId);
        if (amount > trip.collected) revert FundTooLow(tripId, trip.collected);
        trip.collected -= amount;
        currency.safeTransfer(supplier, amount);
        emit BillPaid(tripId, supplier, amount);
    }

    /// @notice Closes the fund of a trip: nothing is paid in or out any more.
    /// @param tripId number of the trip
    function closeTrip(uint256 tripId) external onlyBursar {
        _open(tripId).isClosed = true;
        emit Closed(tripId);
    }

    /// @notice Tells how much money is in the fund of a trip.
    /// @param tripId number of the trip
    function inFund(uint256 tripId) external view returns (uint256 amount) {
        if (tripId == 0 || tripId > tripCount) revert NoSuchTrip(tripId);
        return trips[tripId].collected;
    }

    function _open(uint256 tripId) private view returns (Trip storage trip) {
        if (tripId == 0 || tripId > tripCount) revert NoSuchTrip(tripId);
        trip = trips[tripId];
        if (trip.isClosed) revert TripClosed(tripId);
    }
}
