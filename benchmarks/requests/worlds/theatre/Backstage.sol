// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Shifts of the theatre's staff in the current month
contract StaffRota is Ownable {
    struct Shift {
        uint8 startHour;
        uint8 numberOfHours;
    }

    error NotTheManager(address caller);
    error NoSuchDay(uint8 day);
    error WrongHours(uint8 startHour, uint8 numberOfHours);
    error HasShift(address person, uint8 day);
    error HasNoShift(address person, uint8 day);

    event ShiftAssigned(address indexed person, uint8 day, uint8 startHour, uint8 numberOfHours);
    event ShiftRemoved(address indexed person, uint8 day);

    address public manager;
    mapping(address person => mapping(uint8 day => Shift)) public shifts;
    mapping(address person => uint256) private totalHours;

    constructor() Ownable(msg.sender) {}

    modifier onlyManager() {
        if (msg.sender != manager && msg.sender != owner()) revert NotTheManager(msg.sender);
        _;
    }

    function setManager(address account) external onlyOwner {
        manager = account;
    }

    /// @notice Puts somebody on a shift.
    /// @param person who works
    /// @param day day of the month, 1 to 31
    /// @param startHour hour at which the shift begins, 8 to 22
    /// @param numberOfHours how long it is, 1 to 10 hours
    function assignShift(address person, uint8 day, uint8 startHour, uint8 numberOfHours) external onlyManager {
        if (day == 0 || day > 31) revert NoSuchDay(day);
        if (startHour < 8 || startHour > 22 || numberOfHours == 0 || numberOfHours > 10) {
            revert WrongHours(startHour, numberOfHours);
        }
        if (shifts[person][day].numberOfHours != 0) revert HasShift(person, day);
        shifts[person][day] = Shift(startHour, numberOfHours);
        totalHours[person] += numberOfHours;
        emit ShiftAssigned(person, day, startHour, numberOfHours);
    }

    /// @notice Takes somebody off a shift.
    /// @param person whose shift it is
    /// @param day day of the month, 1 to 31
    function removeShift(address person, uint8 day) external onlyManager {
        _remove(person, day);
    }

    /// @notice Gives somebody's shift to somebody else.
    /// @param from who had the shift
    /// @param to who takes it over
    /// @param day day of the month, 1 to 31
    function handOverShift(address from, address to, uint8 day) external onlyManager {
        if (shifts[to][day].numberOfHours != 0) revert HasShift(to, day);
        Shift memory shift = _remove(from, day);
        shifts[to][day] = shift;
        totalHours[to] += shift.numberOfHours;
        emit ShiftAssigned(to, day, shift.startHour, shift.numberOfHours);
    }

    /// @notice Tells how many hours somebody works this month.
    /// @param person who works
    function hoursOf(address person) external view returns (uint256) {
        return totalHours[person];
    }

    function _remove(address person, uint8 day) private returns (Shift memory shift) {
        shift = shifts[person][day];
        if (shift.numberOfHours == 0) revert HasNoShift(person, day);
        delete shifts[person][day];
        totalHours[person] -= shift.numberOfHours;
        emit ShiftRemoved(person, day);
    }
}

contract CallBoard is Ownable {
    address public stageManager;
    uint8 public curtainHour = 20;
    uint8 public curtainMinute = 0;
    mapping(string => address) public actorOf;
    mapping(uint256 => string) public notices;
    uint256 public lastNotice;

    event NoticePosted(uint256 indexed noticeId, string text);

    modifier onlyStageManager() {
        require(msg.sender == stageManager || msg.sender == owner(), "not the stage manager");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setStageManager(address account) external onlyOwner {
        stageManager = account;
    }

    function postNotice(string calldata text) external onlyStageManager {
        require(bytes(text).length > 0, "empty");
        notices[++lastNotice] = text;
        emit NoticePosted(lastNotice, text);
    }

    function removeNotice(uint256 noticeId) external onlyStageManager {
        require(bytes(notices[noticeId]).length > 0, "no such notice");
        delete notices[noticeId];
    }

    function setCurtain(uint8 hour, uint8 minute) external onlyStageManager {
        require(hour >= 10 && hour < 24 && minute < 60, "no such time");
        curtainHour = hour;
        curtainMinute = minute;
    }

    function castRole(string calldata role, address actor) external onlyStageManager {
        require(bytes(role).length > 0, "no role");
        actorOf[role] = actor;
    }
}
