// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Heating, blinds and lamps of a house
contract ClimateControl is Ownable {
    error NotOperator(address caller);
    error UnknownRoom(uint256 room);
    error UnknownLamp(string lamp);
    error TemperatureOutOfRange(int256 degrees);
    error PercentOutOfRange(uint256 percent);
    error HourOutOfRange(uint256 hour);
    error DurationOutOfRange(uint256 durationMinutes);

    event TargetSet(uint256 indexed room, int256 degrees);
    event Boosted(uint256 indexed room, uint256 durationMinutes);
    event BlindsMoved(uint256 indexed room, uint256 percent);
    event LampDimmed(string lamp, uint256 percent);
    event NightModeSet(uint256 fromHour, uint256 toHour, int256 degrees);

    struct NightMode {
        uint256 fromHour;
        uint256 toHour;
        int256 degrees;
    }

    uint256 public constant ROOMS = 9;
    int256 public constant COLDEST = -20;
    int256 public constant WARMEST = 30;

    address public immutable operator;
    NightMode public nightMode;
    mapping(uint256 room => int256) public targets;
    mapping(uint256 room => uint256) public boosts;
    mapping(uint256 room => uint256) public blinds;
    mapping(string lamp => uint256) public brightness;

    mapping(string lamp => bool) private lamps;
    mapping(uint256 room => int256) private measured;
    int256 private outdoors;

    modifier onlyOperator() {
        if (msg.sender != operator) revert NotOperator(msg.sender);
        _;
    }

    modifier inHouse(uint256 room) {
        if (room == 0 || room > ROOMS) revert UnknownRoom(room);
        _;
    }

    constructor(address owner, address _operator, string[] memory lampNames) Ownable(owner) {
        operator = _operator;
        for (uint256 i = 0; i < lampNames.length; i++) lamps[lampNames[i]] = true;
    }

    /// @notice Sets the temperature that a room is kept at.
    /// @param room the number of the room, 1 to 9
    /// @param degrees in degrees Celsius, -20 to 30
    function setTarget(uint256 room, int256 degrees) external onlyOperator inHouse(room) {
        _checkTemperature(degrees);
        targets[room] = degrees;
        emit TargetSet(room, degrees);
    }

    /// @notice Heats a room at full power for some time.
    /// @param room the number of the room, 1 to 9
    /// @param durationMinutes how long, at most 240 minutes
    function boost(uint256 room, uint256 durationMinutes) external onlyOperator inHouse(room) {
        if (durationMinutes == 0 || durationMinutes > 240) revert DurationOutOfRange(durationMinutes);
        boosts[room] = durationMinutes;
        emit Boosted(room, durationMinutes);
    }

    /// @notice Moves the blinds of a room.
    /// @param room the number of the room, 1 to 9
    /// @param percent how far they are closed: 0 is open, 100 is closed
    function setBlinds(uint256 room, uint256 percent) external onlyOperator inHouse(room) {
        if (percent > 100) revert PercentOutOfRange(percent);
        blinds[room] = percent;
        emit BlindsMoved(room, percent);
    }

    /// @notice Dims a lamp.
    /// @param lamp its name: porch, hall, kitchen or cellar
    /// @param percent of its full brightness; 0 turns it off
    function dim(string calldata lamp, uint256 percent) external onlyOperator {
        if (!lamps[lamp]) revert UnknownLamp(lamp);
        if (percent > 100) revert PercentOutOfRange(percent);
        brightness[lamp] = percent;
        emit LampDimmed(lamp, percent);
    }

    /// @notice Sets the hours of the night, and the temperature of all rooms during them.
    /// @param fromHour when the night begins, 0 to 23
    /// @param toHour when it ends, 0 to 23
    /// @param degrees in degrees Celsius, -20 to 30
    function setNightMode(uint256 fromHour, uint256 toHour, int256 degrees) external onlyOperator {
        if (fromHour > 23) revert HourOutOfRange(fromHour);
        if (toHour > 23) revert HourOutOfRange(toHour);
        _checkTemperature(degrees);
        nightMode = NightMode(fromHour, toHour, degrees);
        emit NightModeSet(fromHour, toHour, degrees);
    }

    /// @notice Reads the thermometer of a room.
    /// @param room the number of the room, 1 to 9
    /// @return degrees in degrees Celsius
    function roomTemperature(uint256 room) external view inHouse(room) returns (int256 degrees) {
        return measured[room];
    }

    /// @notice Reads the thermometer in the garden.
    /// @return degrees in degrees Celsius
    function outdoorTemperature() external view returns (int256 degrees) {
        return outdoors;
    }

    /// @notice Stores what the thermometers measured. For the owner.
    function report(int256 outdoorDegrees, int256[] calldata roomDegrees) external onlyOwner {
        outdoors = outdoorDegrees;
        for (uint256 i = 0; i < roomDegrees.length; i++) measured[i + 1] = roomDegrees[i];
    }

    function _checkTemperature(int256 degrees) private pure {
        if (degrees < COLDEST || degrees > WARMEST) revert TemperatureOutOfRange(degrees);
    }
}
