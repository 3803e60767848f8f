// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title What residents pay with
contract HouseCredits is ERC20, Ownable {
    constructor(address owner) ERC20("House Credits", "CRED") Ownable(owner) {}

    function decimals() public pure override returns (uint8) {
        return 2;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title Seats of the cinema in the basement
contract Cinema is Ownable {
    error NoSuchSeat(uint256 row, uint256 seat);
    error SeatTaken(uint256 row, uint256 seat);
    error NotYourSeat(uint256 row, uint256 seat);

    event SeatBooked(uint256 indexed row, uint256 indexed seat, address holder);
    event SeatReleased(uint256 indexed row, uint256 indexed seat);

    uint256 public constant ROWS = 8;
    uint256 public constant SEATS = 14;

    mapping(uint256 row => mapping(uint256 seat => address)) public holderOf;

    constructor(address owner) Ownable(owner) {}

    /// @notice Books a seat for the film of the week.
    /// @param row 1 to 8
    /// @param seat 1 to 14
    function bookSeat(uint256 row, uint256 seat) external {
        _book(row, seat, msg.sender);
    }

    /// @notice Gives a booked seat back.
    /// @param row 1 to 8
    /// @param seat 1 to 14
    function releaseSeat(uint256 row, uint256 seat) external {
        if (holderOf[row][seat] != msg.sender) revert NotYourSeat(row, seat);
        delete holderOf[row][seat];
        emit SeatReleased(row, seat);
    }

    /// @notice Hands a booked seat over to somebody else.
    /// @param guest who gets the seat
    /// @param row 1 to 8
    /// @param seat 1 to 14
    function giveSeat(address guest, uint256 row, uint256 seat) external {
        if (holderOf[row][seat] != msg.sender) revert NotYourSeat(row, seat);
        holderOf[row][seat] = guest;
        emit SeatBooked(row, seat, guest);
    }

    function assign(address holder, uint256 row, uint256 seat) external onlyOwner {
        _book(row, seat, holder);
    }

    function _book(uint256 row, uint256 seat, address holder) private {
        if (row == 0 || row > ROWS || seat == 0 || seat > SEATS) revert NoSuchSeat(row, seat);
        if (holderOf[row][seat] != address(0)) revert SeatTaken(row, seat);
        holderOf[row][seat] = holder;
        emit SeatBooked(row, seat, holder);
    }
}

/// @title Meeting rooms, by the hour
contract MeetingRooms {
    error OutOfRange();
    error RoomTaken(uint256 room, uint256 week, uint256 day, uint256 hour);

    event Reserved(uint256 indexed room, uint256 week, uint256 day, uint256 hour, address indexed by);

    mapping(bytes32 slot => address) private reservations;

    /// @notice Reserves a meeting room for one hour.
    /// @param room 1 to 5
    /// @param week of the year, 1 to 53
    /// @param day of the week: 1 is Monday, 7 is Sunday
    /// @param hour when it begins, 0 to 23
    function reserveRoom(uint256 room, uint256 week, uint256 day, uint256 hour) external {
        if (room == 0 || room > 5 || week == 0 || week > 53 || day == 0 || day > 7 || hour > 23) revert OutOfRange();
        bytes32 slot = keccak256(abi.encode(room, week, day, hour));
        if (reservations[slot] != address(0)) revert RoomTaken(room, week, day, hour);
        reservations[slot] = msg.sender;
        emit Reserved(room, week, day, hour, msg.sender);
    }
}

contract StorageBoxes {
    using SafeERC20 for IERC20;

    struct Rental {
        address tenant;
        uint256 numberOfDays;
    }

    IERC20 public immutable credits;
    uint256 public constant PRICE_PER_DAY = 50;
    mapping(uint256 => Rental) public rentals;

    constructor(IERC20 _credits) {
        credits = _credits;
    }

    function rentBox(uint256 box, uint256 numberOfDays) external {
        require(box > 0 && box <= 40, "no such box");
        require(numberOfDays > 0 && numberOfDays <= 90, "bad number of days");
        require(rentals[box].tenant == address(0), "box is rented");
        rentals[box] = Rental(msg.sender, numberOfDays);
        credits.safeTransferFrom(msg.sender, address(this), numberOfDays * PRICE_PER_DAY);
    }
}
