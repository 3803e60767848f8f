// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Bookings and departures of a small airline
contract Flights is Ownable {
    struct Flight {
        uint8 seats;
        uint8 gate;
        uint16 delay;
        uint8 booked;
        bool isListed;
        bool isClosed;
    }

    struct Booking {
        uint8 seat;
        uint8 bags;
    }

    error NotTheDesk(address caller);
    error UnknownFlight(uint256 flightNumber);
    error BoardingClosed(uint256 flightNumber);
    error NoSuchSeat(uint8 seat);
    error SeatTaken(uint8 seat);
    error NoSuchGate(uint8 gate);
    error AlreadyBooked(address passenger);
    error NotBooked(address passenger);
    error TooManyBags(uint8 bags);

    event SeatBooked(uint256 indexed flightNumber, address indexed passenger, uint8 seat);
    event BookingCancelled(uint256 indexed flightNumber, address indexed passenger);
    event FlightDelayed(uint256 indexed flightNumber, uint16 minutesLate);

    uint8 public constant GATES = 6;
    uint8 public constant MAX_BAGS = 3;

    address public desk;
    mapping(uint256 flightNumber => Flight) public flights;
    mapping(uint256 flightNumber => mapping(address passenger => Booking)) public bookings;
    mapping(uint256 flightNumber => mapping(uint8 seat => bool)) private taken;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (msg.sender != desk && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address newDesk) external onlyOwner {
        desk = newDesk;
    }

    function addFlight(uint256 flightNumber, uint8 seats, uint8 gate) external onlyOwner {
        flights[flightNumber] = Flight(seats, gate, 0, 0, true, false);
    }

    /// @notice Books a seat on a flight.
    /// @param flightNumber number of the flight
    /// @param passenger who flies
    /// @param seat number of the seat, 1 to 19
    function bookSeat(uint256 flightNumber, address passenger, uint8 seat) external onlyDesk {
        Flight storage flight = _open(flightNumber);
        Booking storage booking = bookings[flightNumber][passenger];
        if (booking.seat != 0) revert AlreadyBooked(passenger);
        _take(flightNumber, flight.seats, seat);
        booking.seat = seat;
        flight.booked++;
        emit SeatBooked(flightNumber, passenger, seat);
    }

    /// @notice Moves a passenger to another seat of the same flight.
    /// @param flightNumber number of the flight
    /// @param passenger who has a seat already
    /// @param newSeat number of the new seat, 1 to 19
    function changeSeat(uint256 flightNumber, address passenger, uint8 newSeat) external onlyDesk {
        Flight storage flight = _open(flightNumber);
        Booking storage booking = _booked(flightNumber, passenger);
        _take(flightNumber, flight.seats, newSeat);
        taken[flightNumber][booking.seat] = false;
        booking.seat = newSeat;
    }

    /// @notice Cancels a passenger's booking on a flight.
    /// @param flightNumber number of the flight
    /// @param passenger who does not fly
    function cancelBooking(uint256 flightNumber, address passenger) external onlyDesk {
        Flight storage flight = _open(flightNumber);
        Booking storage booking = _booked(flightNumber, passenger);
        taken[flightNumber][booking.seat] = false;
        delete bookings[flightNumber][passenger];
        flight.booked--;
        emit BookingCancelled(flightNumber, passenger);
    }

    /// @notice Adds checked bags to a booking.
    /// @param flightNumber number of the flight
    /// @param passenger whose bags they are
    /// @param bags how many bags to add; a passenger has at most 3
    function addBags(uint256 flightNumber, address passenger, uint8 bags) external onlyDesk {
        _open(flightNumber);
        Booking storage booking = _booked(flightNumber, passenger);
        if (bags == 0 || bags > MAX_BAGS - booking.bags) revert TooManyBags(bags);
        booking.bags += bags;
    }

    /// @notice Sets the gate from which a flight leaves.
    /// @param flightNumber number of the flight
    /// @param gate 1 to 6
    function setGate(uint256 flightNumber, uint8 gate) external onlyDesk {
        Flight storage flight = _open(flightNumber);
        if (gate == 0 || gate > GATES) revert NoSuchGate(gate);
        flight.gate = gate;
    }

    /// @notice Delays a flight.
    /// @param flightNumber number of the flight
    /// @param minutesLate by how many minutes
    function delayFlight(uint256 flightNumber, uint16 minutesLate) external onlyDesk {
        _open(flightNumber).delay += minutesLate;
        emit FlightDelayed(flightNumber, minutesLate);
    }

    /// @notice Closes boarding: nothing about the flight can be changed any more.
    /// @param flightNumber number of the flight
    function closeBoarding(uint256 flightNumber) external onlyDesk {
        _open(flightNumber).isClosed = true;
    }

    /// @notice Counts the seats of a flight that are still free.
    /// @param flightNumber number of the flight
    /// @return count how many
    function freeSeats(uint256 flightNumber) external view returns (uint256 count) {
        Flight storage flight = flights[flightNumber];
        if (!flight.isListed) revert UnknownFlight(flightNumber);
        return flight.seats - flight.booked;
    }

    function _take(uint256 flightNumber, uint8 seats, uint8 seat) private {
        if (seat == 0 || seat > seats) revert NoSuchSeat(seat);
        if (taken[flightNumber][seat]) revert SeatTaken(seat);
        taken[flightNumber][seat] = true;
    }

    function _open(uint256 flightNumber) private view returns (Flight storage flight) {
        flight = flights[flightNumber];
        if (!flight.isListed) revert UnknownFlight(flightNumber);
        if (flight.isClosed) revert BoardingClosed(flightNumber);
    }

    function _booked(uint256 flightNumber, address passenger) private view returns (Booking storage booking) {
        booking = bookings[flightNumber][passenger];
        if (booking.seat == 0) revert NotBooked(passenger);
    }
}
