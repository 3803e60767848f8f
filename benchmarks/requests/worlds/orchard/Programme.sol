// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title The weekly programme of a radio station
contract Programme is Ownable {
    struct Show {
        string title;
        address host;
        uint8 weekday;
        uint8 hour;
        uint16 length;
    }

    event ShowAdded(uint256 indexed showId, string title, uint8 weekday, uint8 hour);
    event ShowMoved(uint256 indexed showId, uint8 weekday, uint8 hour);
    event HostAssigned(uint256 indexed showId, address indexed host);
    event ShowCancelled(uint256 indexed showId);

    address public producer;
    uint256 public showCount;
    mapping(uint256 showId => Show) public shows;
    mapping(uint8 weekday => mapping(uint8 hour => uint256 showId)) public slots;

    modifier onlyProducer() {
        require(msg.sender == producer || msg.sender == owner(), "not the producer");
        _;
    }

    constructor(address producer_) Ownable(msg.sender) {
        producer = producer_;
    }

    /// @notice Adds a show to the weekly programme
    /// @param title name of the show
    /// @param weekday 1 = Monday, 2 = Tuesday, 3 = Wednesday, 4 = Thursday, 5 = Friday, 6 = Saturday, 7 = Sunday
    /// @param hour when it starts, 0 to 23
    /// @param length in minutes, 15 to 180
    /// @return showId number of the new show
    function addShow(string calldata title, uint8 weekday, uint8 hour, uint16 length)
        external
        onlyProducer
        returns (uint256 showId)
    {
        require(length >= 15 && length <= 180, "length out of range");
        showId = ++showCount;
        _occupy(showId, weekday, hour);
        shows[showId] = Show(title, address(0), weekday, hour, length);
        emit ShowAdded(showId, title, weekday, hour);
    }

    /// @notice Moves a show to another slot of the week
    /// @param showId number of the show
    /// @param weekday 1 = Monday, 2 = Tuesday, 3 = Wednesday, 4 = Thursday, 5 = Friday, 6 = Saturday, 7 = Sunday
    /// @param hour when it starts, 0 to 23
    function moveShow(uint256 showId, uint8 weekday, uint8 hour) external onlyProducer {
        Show storage show = _find(showId);
        delete slots[show.weekday][show.hour];
        _occupy(showId, weekday, hour);
        (show.weekday, show.hour) = (weekday, hour);
        emit ShowMoved(showId, weekday, hour);
    }

    /// @notice Assigns a host to a show; an earlier one is replaced
    /// @param showId number of the show
    /// @param host who presents it
    function assignHost(uint256 showId, address host) external onlyProducer {
        _find(showId).host = host;
        emit HostAssigned(showId, host);
    }

    /// @notice Takes a show off the programme
    /// @param showId number of the show
    function cancelShow(uint256 showId) external onlyProducer {
        Show storage show = _find(showId);
        delete slots[show.weekday][show.hour];
        delete shows[showId];
        emit ShowCancelled(showId);
    }

    /// @notice Tells at which hour a show starts
    /// @param showId number of the show
    /// @return hour 0 to 23
    function startHour(uint256 showId) external view returns (uint8 hour) {
        return _find(showId).hour;
    }

    function _find(uint256 showId) private view returns (Show storage show) {
        show = shows[showId];
        require(show.length > 0, "no such show");
    }

    function _occupy(uint256 showId, uint8 weekday, uint8 hour) private {
        require(weekday >= 1 && weekday <= 7, "no such weekday");
        require(hour < 24, "no such hour");
        require(slots[weekday][hour] == 0, "slot taken");
        slots[weekday][hour] = showId;
    }
}

/// @title Studios and the mixing desk
contract Studios is Ownable {
    struct Booking {
        address holder;
        uint8 studio;
        uint8 day;
        uint8 fromHour;
        uint8 toHour;
    }

    event Booked(uint256 indexed bookingId, uint8 studio, uint8 day, uint8 fromHour, uint8 toHour);
    event Released(uint256 indexed bookingId);
    event GainSet(uint8 indexed channel, int8 decibels);

    uint256 public bookingCount;
    mapping(uint256 bookingId => Booking) public bookings;
    mapping(bytes32 hourOfStudio => bool) public isTaken;
    mapping(uint8 channel => int8) public gains;

    constructor() Ownable(msg.sender) {}

    /// @notice Books a studio
    /// @param studio number of the studio, 1 to 3
    /// @param day day of this month, 1 to 31
    /// @param fromHour when it begins, 0 to 23
    /// @param toHour when it ends, 1 to 24
    /// @return bookingId number of the booking
    function bookStudio(uint8 studio, uint8 day, uint8 fromHour, uint8 toHour) external returns (uint256 bookingId) {
        require(studio >= 1 && studio <= 3, "no such studio");
        require(day >= 1 && day <= 31, "no such day");
        require(fromHour < toHour && toHour <= 24, "no such hours");
        bookingId = ++bookingCount;
        bookings[bookingId] = Booking(msg.sender, studio, day, fromHour, toHour);
        _mark(bookings[bookingId], true);
        emit Booked(bookingId, studio, day, fromHour, toHour);
    }

    /// @notice Gives a booked studio back
    /// @param bookingId number of the booking
    function releaseBooking(uint256 bookingId) external {
        Booking memory booking = bookings[bookingId];
        require(booking.holder == msg.sender, "not your booking");
        _mark(booking, false);
        delete bookings[bookingId];
        emit Released(bookingId);
    }

    /// @notice Sets the gain of a channel of the mixing desk
    /// @param channel number of the channel, 1 to 12
    /// @param decibels -60 to 10
    function setGain(uint8 channel, int8 decibels) external {
        require(channel >= 1 && channel <= 12, "no such channel");
        require(decibels >= -60 && decibels <= 10, "gain out of range");
        gains[channel] = decibels;
        emit GainSet(channel, decibels);
    }

    function _mark(Booking memory booking, bool taken) private {
        for (uint8 hour = booking.fromHour; hour < booking.toHour; hour++) {
            bytes32 key = keccak256(abi.encode(booking.studio, booking.day, hour));
            require(isTaken[key] != taken, "studio taken");
            isTaken[key] = taken;
        }
    }
}
