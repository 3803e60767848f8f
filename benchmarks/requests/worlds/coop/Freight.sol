// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title The trucks that members share
contract Freight is Ownable {
    struct Booking {
        address member;
        uint8 truck;
        string destination;
        uint16 day;
        uint256 deposit;
    }

    event Booked(uint256 indexed bookingId, address indexed member, uint8 truck, string destination, uint16 day);
    event Cancelled(uint256 indexed bookingId);

    uint8 public constant TRUCKS = 4;
    uint256 public bookingCount;
    mapping(uint256 bookingId => Booking) public bookings;

    constructor() Ownable(msg.sender) {}

    /// @notice Books a truck for a day; the payment is the deposit
    /// @param truck number of the truck, 1 to 4
    /// @param destination where it goes
    /// @param day day of the year, 1 to 366
    /// @return bookingId number of the booking
    function bookTruck(uint8 truck, string calldata destination, uint16 day)
        external
        payable
        returns (uint256 bookingId)
    {
        return _book(msg.sender, truck, destination, day);
    }

    /// @notice Cancels a booking and returns its deposit
    /// @param bookingId number of the booking
    function cancelBooking(uint256 bookingId) external {
        Booking memory booking = bookings[bookingId];
        require(booking.member == msg.sender, "not your booking");
        delete bookings[bookingId];
        (bool sent,) = msg.sender.call{value: booking.deposit}("");
        require(sent, "deposit not returned");
        emit Cancelled(bookingId);
    }

    /// @notice Books for a member who has no wallet at hand
    function bookFor(address member, uint8 truck, string calldata destination, uint16 day)
        external
        payable
        onlyOwner
        returns (uint256 bookingId)
    {
        return _book(member, truck, destination, day);
    }

    function _book(address member, uint8 truck, string calldata destination, uint16 day)
        private
        returns (uint256 bookingId)
    {
        require(truck > 0 && truck <= TRUCKS, "no such truck");
        require(day > 0 && day <= 366, "no such day");
        require(msg.value > 0, "no deposit");
        bookingId = ++bookingCount;
        bookings[bookingId] = Booking(member, truck, destination, day, msg.value);
        emit Booked(bookingId, member, truck, destination, day);
    }
}
