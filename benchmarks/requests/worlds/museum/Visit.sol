// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title Who may write
abstract contract StaffOnly is Ownable {
    error NotStaff(address caller);

    mapping(address => bool) public isStaff;

    constructor() Ownable(msg.sender) {}

    modifier onlyStaff() {
        if (!isStaff[msg.sender] && msg.sender != owner()) revert NotStaff(msg.sender);
        _;
    }

    function setStaff(address account, bool allowed) external onlyOwner {
        isStaff[account] = allowed;
    }
}

/// @title Events of the current month
contract EventCalendar is StaffOnly {
    struct Entry {
        string title;
        uint256 day;
        uint256 hour;
        uint256 room;
        address guide;
        uint256 seatsLeft;
    }

    error NoSuchTime(uint256 day, uint256 hour);
    error NoSuchRoom(uint256 room);
    error RoomTaken(uint256 room, uint256 day, uint256 hour);
    error NoSuchEvent(uint256 number);
    error TooFewSeats(uint256 number, uint256 seatsLeft);

    uint256 public constant ROOMS = 24;
    uint256 public constant SEATS = 25;

    uint256 public lastNumber;
    mapping(uint256 number => Entry) public entries;
    mapping(uint256 room => mapping(uint256 day => mapping(uint256 hour => uint256))) public eventIn;
    mapping(uint256 room => bool) public isRoomClosed;

    function schedule(string calldata title, uint256 day, uint256 hour, uint256 room) external onlyStaff {
        if (day == 0 || day > 31 || hour < 9 || hour > 21) revert NoSuchTime(day, hour);
        _checkRoom(room);
        if (eventIn[room][day][hour] != 0) revert RoomTaken(room, day, hour);
        eventIn[room][day][hour] = ++lastNumber;
        entries[lastNumber] = Entry(title, day, hour, room, address(0), SEATS);
    }

    function cancel(uint256 number) external onlyStaff {
        Entry storage entry = _find(number);
        delete eventIn[entry.room][entry.day][entry.hour];
        delete entries[number];
    }

    function assignGuide(uint256 number, address guide) external onlyStaff {
        _find(number).guide = guide;
    }

    function reserveSeats(uint256 number, uint256 seats) external onlyStaff {
        Entry storage entry = _find(number);
        if (seats == 0 || seats > entry.seatsLeft) revert TooFewSeats(number, entry.seatsLeft);
        entry.seatsLeft -= seats;
    }

    function setRoomOpen(uint256 room, bool open) external onlyStaff {
        _checkRoom(room);
        isRoomClosed[room] = !open;
    }

    function seatsLeft(uint256 number) external view returns (uint256) {
        return _find(number).seatsLeft;
    }

    function _checkRoom(uint256 room) private pure {
        if (room == 0 || room > ROOMS) revert NoSuchRoom(room);
    }

    function _find(uint256 number) private view returns (Entry storage entry) {
        entry = entries[number];
        if (entry.day == 0) revert NoSuchEvent(number);
    }
}

/// @title What visitors write
contract GuestBook is StaffOnly {
    struct Page {
        string visitor;
        string message;
    }

    Page[] public pages;

    function sign(string calldata visitor, string calldata message) external onlyStaff {
        require(bytes(message).length > 0, "empty message");
        pages.push(Page(visitor, message));
    }
}

/// @title Writes how many seats
contract SeatCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " seats left");
    }
}
