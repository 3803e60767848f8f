// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Bookings of the studio's rooms in the current month
contract RoomPlan is Ownable {
    error NoSuchRoom(uint8 room);
    error OutsideHours(uint8 day, uint8 hour, uint8 duration);
    error RoomTaken(uint8 room, uint8 day, uint8 hour);
    error NotYourBooking(uint8 room, uint8 day, uint8 hour);

    event RoomBooked(uint8 indexed room, uint8 day, uint8 hour, uint8 duration, address indexed by);
    event BookingCancelled(uint8 indexed room, uint8 day, uint8 hour);

    uint8 public constant ROOMS = 5;
    mapping(uint8 room => mapping(uint8 day => mapping(uint8 hour => address))) public bookedBy;
    mapping(uint8 room => mapping(uint8 day => mapping(uint8 hour => uint8))) public durationOf;

    constructor() Ownable(msg.sender) {}

    /// @notice Books a room.
    /// @param room number of the room, 1 to 5
    /// @param day day of the month, 1 to 31
    /// @param hour when it begins, 7 to 21 (24-hour clock)
    /// @param duration for how many hours
    function bookRoom(uint8 room, uint8 day, uint8 hour, uint8 duration) external {
        _book(room, day, hour, duration, msg.sender);
    }

    /// @notice Cancels a booking.
    /// @param room number of the room, 1 to 5
    /// @param day day of the month, 1 to 31
    /// @param hour when the booking begins
    function cancelBooking(uint8 room, uint8 day, uint8 hour) external {
        uint8 duration = durationOf[room][day][hour];
        if (duration == 0 || bookedBy[room][day][hour] != msg.sender) revert NotYourBooking(room, day, hour);
        for (uint8 i = 0; i < duration; i++) delete bookedBy[room][day][hour + i];
        delete durationOf[room][day][hour];
        emit BookingCancelled(room, day, hour);
    }

    function bookFor(address tenant, uint8 room, uint8 day, uint8 hour, uint8 duration) external onlyOwner {
        _book(room, day, hour, duration, tenant);
    }

    function _book(uint8 room, uint8 day, uint8 hour, uint8 duration, address tenant) private {
        if (room == 0 || room > ROOMS) revert NoSuchRoom(room);
        if (day == 0 || day > 31 || hour < 7 || duration == 0 || uint256(hour) + duration > 22) {
            revert OutsideHours(day, hour, duration);
        }
        for (uint8 i = 0; i < duration; i++) {
            if (bookedBy[room][day][hour + i] != address(0)) revert RoomTaken(room, day, hour + i);
            bookedBy[room][day][hour + i] = tenant;
        }
        durationOf[room][day][hour] = duration;
        emit RoomBooked(room, day, hour, duration, tenant);
    }
}

contract GearCage {
    uint256 public constant ITEMS = 60;
    mapping(uint256 => address) public holderOf;

    event CheckedOut(uint256 indexed itemNumber, address indexed borrower);
    event CheckedIn(uint256 indexed itemNumber);

    function checkOut(uint256 itemNumber, address borrower) external {
        require(itemNumber > 0 && itemNumber <= ITEMS, "no such item");
        require(holderOf[itemNumber] == address(0), "item is out");
        holderOf[itemNumber] = borrower;
        emit CheckedOut(itemNumber, borrower);
    }

    function checkIn(uint256 itemNumber) external {
        require(holderOf[itemNumber] != address(0), "item is not out");
        delete holderOf[itemNumber];
        emit CheckedIn(itemNumber);
    }
}

/// @title The month's shoots
contract ShootSchedule {
    struct Shoot {
        string title;
        uint8 day;
        uint8 room;
        bool isCancelled;
    }

    error NoSuchShoot(uint256 shootNumber);
    error NoSuchDay(uint8 day);
    error NoSuchRoom(uint8 room);

    event ShootScheduled(uint256 indexed shootNumber, string title, uint8 day, uint8 room);
    event ShootRetitled(uint256 indexed shootNumber, string title);
    event ShootCancelled(uint256 indexed shootNumber);

    uint256 public shootCount;
    mapping(uint256 shootNumber => Shoot) public shoots;

    /// @notice Enters a shoot into the schedule.
    /// @param title what it is called
    /// @param day day of the month, 1 to 31
    /// @param room number of the room, 1 to 5
    /// @return shootNumber number of the shoot
    function scheduleShoot(string calldata title, uint8 day, uint8 room) external returns (uint256 shootNumber) {
        if (day == 0 || day > 31) revert NoSuchDay(day);
        if (room == 0 || room > 5) revert NoSuchRoom(room);
        shootNumber = ++shootCount;
        shoots[shootNumber] = Shoot(title, day, room, false);
        emit ShootScheduled(shootNumber, title, day, room);
    }

    /// @notice Gives a shoot another title.
    /// @param shootNumber number of the shoot
    /// @param newTitle what it is called from now on
    function retitleShoot(uint256 shootNumber, string calldata newTitle) external {
        _planned(shootNumber).title = newTitle;
        emit ShootRetitled(shootNumber, newTitle);
    }

    /// @notice Cancels a shoot.
    /// @param shootNumber number of the shoot
    function cancelShoot(uint256 shootNumber) external {
        _planned(shootNumber).isCancelled = true;
        emit ShootCancelled(shootNumber);
    }

    function _planned(uint256 shootNumber) private view returns (Shoot storage shoot) {
        shoot = shoots[shootNumber];
        if (shoot.day == 0 || shoot.isCancelled) revert NoSuchShoot(shootNumber);
    }
}

/// @title Light and air of the rooms
contract RoomControl {
    error NoSuchRoom(uint8 room);
    error TooBright(uint8 percent);
    error OutOfRange(int8 celsius);

    event LightLevelSet(uint8 indexed room, uint8 percent);
    event TemperatureSet(uint8 indexed room, int8 celsius);

    mapping(uint8 room => uint8) public lightLevel;
    mapping(uint8 room => int8) private temperatures;

    modifier known(uint8 room) {
        if (room == 0 || room > 5) revert NoSuchRoom(room);
        _;
    }

    /// @notice Sets the level of the lights in a room.
    /// @param room number of the room, 1 to 5
    /// @param percent 0 (off) to 100
    function setLightLevel(uint8 room, uint8 percent) external known(room) {
        if (percent > 100) revert TooBright(percent);
        lightLevel[room] = percent;
        emit LightLevelSet(room, percent);
    }

    /// @notice Sets the temperature of a room.
    /// @param room number of the room, 1 to 5
    /// @param celsius degrees Celsius, -10 to 35
    function setTemperature(uint8 room, int8 celsius) external known(room) {
        if (celsius < -10 || celsius > 35) revert OutOfRange(celsius);
        temperatures[room] = celsius;
        emit TemperatureSet(room, celsius);
    }

    /// @notice Tells the temperature that a room is set to.
    /// @param room number of the room, 1 to 5
    /// @return celsius degrees Celsius
    function temperatureOf(uint8 room) external view known(room) returns (int8 celsius) {
        return temperatures[room];
    }
}
