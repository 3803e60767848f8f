// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Tanks and batches of the brewery
contract BrewHouse is Ownable {
    struct Batch {
        string beer;
        uint256 litres;
        uint256 hops;
    }

    error NotTheBrewer(address caller);
    error NoSuchTank(uint8 tank);
    error TankInUse(uint8 tank);
    error TankEmpty(uint8 tank);
    error TooMuch(uint256 litres);
    error OutOfRange(int16 celsius);
    error NoHops();

    event BatchStarted(uint8 indexed tank, string beer, uint256 litres);
    event BatchMoved(uint8 indexed fromTank, uint8 indexed toTank);
    event TankEmptied(uint8 indexed tank);

    uint8 public constant TANKS = 8;
    uint256 public constant CAPACITY = 2000;

    address public brewer;
    mapping(uint8 tank => Batch) public batches;
    mapping(uint8 tank => int16) private temperatures;
    mapping(uint8 tank => int16[]) private mashSteps;

    constructor() Ownable(msg.sender) {}

    modifier onlyBrewer() {
        if (msg.sender != brewer && msg.sender != owner()) revert NotTheBrewer(msg.sender);
        _;
    }

    function setBrewer(address account) external onlyOwner {
        brewer = account;
    }

    /// @notice Starts a batch in an empty tank.
    /// @param tank number of the tank, 1 to 8
    /// @param beer name of the beer
    /// @param litres how much, up to 2000 litres
    function startBatch(uint8 tank, string calldata beer, uint256 litres) external onlyBrewer {
        _check(tank);
        if (batches[tank].litres != 0) revert TankInUse(tank);
        if (litres == 0 || litres > CAPACITY) revert TooMuch(litres);
        batches[tank] = Batch(beer, litres, 0);
        emit BatchStarted(tank, beer, litres);
    }

    /// @notice Moves a batch into an empty tank.
    /// @param fromTank tank where it is
    /// @param toTank empty tank
    function moveBatch(uint8 fromTank, uint8 toTank) external onlyBrewer {
        _full(fromTank);
        _check(toTank);
        if (batches[toTank].litres != 0) revert TankInUse(toTank);
        batches[toTank] = batches[fromTank];
        delete batches[fromTank];
        emit BatchMoved(fromTank, toTank);
    }

    /// @notice Adds hops to the batch in a tank.
    /// @param tank number of the tank, 1 to 8
    /// @param grams how many grams of hops
    function addHops(uint8 tank, uint256 grams) external onlyBrewer {
        _full(tank);
        if (grams == 0) revert NoHops();
        batches[tank].hops += grams;
    }

    /// @notice Empties a tank.
    /// @param tank number of the tank, 1 to 8
    function emptyTank(uint8 tank) external onlyBrewer {
        _full(tank);
        delete batches[tank];
        emit TankEmptied(tank);
    }

    /// @notice Sets the temperature of a tank.
    /// @param tank number of the tank, 1 to 8
    /// @param celsius degrees Celsius, -5 to 100
    function setTemperature(uint8 tank, int16 celsius) external onlyBrewer {
        _check(tank);
        if (celsius < -5 || celsius > 100) revert OutOfRange(celsius);
        temperatures[tank] = celsius;
    }

    /// @notice Sets the steps of the mash in a tank.
    /// @param tank number of the tank, 1 to 8
    /// @param steps temperatures of the steps in degrees Celsius, one after the other
    function setMashSteps(uint8 tank, int16[] calldata steps) external onlyBrewer {
        _check(tank);
        mashSteps[tank] = steps;
    }

    /// @notice Tells the temperature of a tank.
    /// @param tank number of the tank, 1 to 8
    /// @return celsius degrees Celsius
    function temperatureOf(uint8 tank) external view returns (int16 celsius) {
        _check(tank);
        return temperatures[tank];
    }

    function _check(uint8 tank) private pure {
        if (tank == 0 || tank > TANKS) revert NoSuchTank(tank);
    }

    function _full(uint8 tank) private view {
        _check(tank);
        if (batches[tank].litres == 0) revert TankEmpty(tank);
    }
}

contract BrewCalendar is Ownable {
    address public planner;
    mapping(uint8 => mapping(uint8 => uint8)) public startHour;

    event BrewDayBooked(uint8 day, uint8 hour, uint8 tank);

    constructor() Ownable(msg.sender) {}

    function setPlanner(address account) external onlyOwner {
        planner = account;
    }

    function bookBrewDay(uint8 day, uint8 hour, uint8 tank) external {
        require(msg.sender == planner || msg.sender == owner(), "not the planner");
        require(day > 0 && day < 32 && hour > 4 && hour < 20, "no such time");
        require(tank > 0 && tank < 9, "no such tank");
        require(startHour[day][tank] == 0, "already booked");
        startHour[day][tank] = hour;
        emit BrewDayBooked(day, hour, tank);
    }
}
