// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title SeatBox
/// @notice Seats, each of which two numbers name: an item in a nested mapping.
contract SeatBox {
    error NoSuchSeat(uint256 row, uint256 seat);
    error NotYourSeat(uint256 row, uint256 seat);

    event SeatBooked(uint256 indexed row, uint256 indexed seat, address holder);

    mapping(uint256 row => mapping(uint256 seat => address)) public holderOf;

    /// @param holder Has the first seat.
    constructor(address holder) {
        _book(2, 5, holder);
    }

    /// @notice Book a free seat.
    /// @param row 1 to 8
    /// @param seat 1 to 14
    function book(uint256 row, uint256 seat) external {
        _book(row, seat, msg.sender);
    }

    /// @notice Give a booked seat back.
    /// @param row 1 to 8
    /// @param seat 1 to 14
    function release(uint256 row, uint256 seat) external {
        if (holderOf[row][seat] != msg.sender) revert NotYourSeat(row, seat);
        delete holderOf[row][seat];
    }

    function _book(uint256 row, uint256 seat, address holder) private {
        if (row == 0 || row > 8 || seat == 0 || seat > 14) revert NoSuchSeat(row, seat);
        if (holderOf[row][seat] != address(0)) revert NoSuchSeat(row, seat);
        holderOf[row][seat] = holder;
        emit SeatBooked(row, seat, holder);
    }
}
