// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Berths of the marina and the signal at the pier
contract Berths is Ownable {
    enum Signal {
        None,
        SmallCraft,
        Gale,
        Storm
    }

    struct Stay {
        address skipper;
        uint16 nights;
        bool hasPower;
    }

    error NotTheHarbourmaster(address caller);
    error NoSuchBerth(uint8 berth);
    error BerthTaken(uint8 berth);
    error BerthEmpty(uint8 berth);
    error NoNights();

    event Assigned(uint8 indexed berth, address indexed skipper, uint16 nights);
    event Moved(uint8 indexed fromBerth, uint8 indexed toBerth);
    event Freed(uint8 indexed berth);
    event SignalHoisted(Signal signal);

    uint8 public constant BERTHS = 30;

    address public harbourmaster;
    Signal public signal;
    mapping(uint8 berth => Stay) public stays;

    constructor() Ownable(msg.sender) {}

    modifier onlyHarbourmaster() {
        if (msg.sender != harbourmaster && msg.sender != owner()) revert NotTheHarbourmaster(msg.sender);
        _;
    }

    function setHarbourmaster(address newHarbourmaster) external onlyOwner {
        harbourmaster = newHarbourmaster;
    }

    /// @notice Assigns a free berth to a skipper.
    /// @param berth number of the berth, 1 to 30
    /// @param skipper whose boat it is
    /// @param nights how many nights the boat stays
    function assignBerth(uint8 berth, address skipper, uint16 nights) external onlyHarbourmaster {
        if (berth == 0 || berth > BERTHS) revert NoSuchBerth(berth);
        if (stays[berth].skipper != address(0)) revert BerthTaken(berth);
        if (nights == 0) revert NoNights();
        stays[berth] = Stay(skipper, nights, false);
        emit Assigned(berth, skipper, nights);
    }

    /// @notice Adds nights to the stay of the boat in a berth.
    /// @param berth number of the berth, 1 to 30
    /// @param nights how many nights more
    function extendStay(uint8 berth, uint16 nights) external onlyHarbourmaster {
        if (nights == 0) revert NoNights();
        _taken(berth).nights += nights;
    }

    /// @notice Moves the boat in a berth to a free one.
    /// @param fromBerth where it lies
    /// @param toBerth where it shall lie
    function moveBoat(uint8 fromBerth, uint8 toBerth) external onlyHarbourmaster {
        Stay memory stay = _taken(fromBerth);
        if (toBerth == 0 || toBerth > BERTHS) revert NoSuchBerth(toBerth);
        if (stays[toBerth].skipper != address(0)) revert BerthTaken(toBerth);
        stays[toBerth] = stay;
        delete stays[fromBerth];
        emit Moved(fromBerth, toBerth);
    }

    /// @notice Ends the stay in a berth; the berth is free again.
    /// @param berth number of the berth, 1 to 30
    function freeBerth(uint8 berth) external onlyHarbourmaster {
        _taken(berth);
        delete stays[berth];
        emit Freed(berth);
    }

    /// @notice Switches the shore power of a berth on or off.
    /// @param berth number of the berth, 1 to 30
    /// @param isOn true for on, false for off
    function setShorePower(uint8 berth, bool isOn) external onlyHarbourmaster {
        _taken(berth).hasPower = isOn;
    }

    /// @notice Hoists the weather signal at the pier.
    /// @param newSignal 0 = none, 1 = small craft warning, 2 = gale warning, 3 = storm warning
    function hoistSignal(Signal newSignal) external onlyHarbourmaster {
        signal = newSignal;
        emit SignalHoisted(newSignal);
    }

    /// @notice Tells for how many nights a berth is taken.
    /// @param berth number of the berth, 1 to 30
    function nightsOf(uint8 berth) external view returns (uint16 nights) {
        return _taken(berth).nights;
    }

    function _taken(uint8 berth) private view returns (Stay storage stay) {
        stay = stays[berth];
        if (stay.skipper == address(0)) revert BerthEmpty(berth);
    }
}

/// @title Hours of the crane at the slipway
contract Crane is Ownable {
    error NotTheHarbourmaster(address caller);
    error NoSuchHour(uint8 day, uint8 hour);
    error HourTaken(uint8 day, uint8 hour);

    event LiftBooked(address indexed skipper, uint8 day, uint8 hour);

    address public harbourmaster;
    mapping(uint8 day => mapping(uint8 hour => address)) public lifts;

    constructor() Ownable(msg.sender) {}

    function setHarbourmaster(address newHarbourmaster) external onlyOwner {
        harbourmaster = newHarbourmaster;
    }

    /// @notice Books the crane to lift a boat.
    /// @param skipper whose boat it is
    /// @param day day of the month, 1 to 31
    /// @param hour 7 to 18
    function bookLift(address skipper, uint8 day, uint8 hour) external {
        if (msg.sender != harbourmaster && msg.sender != owner()) revert NotTheHarbourmaster(msg.sender);
        if (day == 0 || day > 31 || hour < 7 || hour > 18) revert NoSuchHour(day, hour);
        if (lifts[day][hour] != address(0)) revert HourTaken(day, hour);
        lifts[day][hour] = skipper;
        emit LiftBooked(skipper, day, hour);
    }
}
