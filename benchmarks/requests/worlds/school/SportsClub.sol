// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Hours of the pitches in the current month
contract Pitches is Ownable {
    error NoSuchPitch(uint8 pitch);
    error NoSuchHour(uint8 day, uint8 hour);
    error AlreadyReserved(uint8 pitch, uint8 day, uint8 hour);
    error NotYours(uint8 pitch, uint8 day, uint8 hour);

    event Reserved(uint8 indexed pitch, uint8 day, uint8 hour, address indexed by);
    event Released(uint8 indexed pitch, uint8 day, uint8 hour);

    uint8 public constant PITCHES = 4;
    mapping(uint8 pitch => mapping(uint8 day => mapping(uint8 hour => address))) public reservedBy;

    constructor() Ownable(msg.sender) {}

    /// @notice Reserves a pitch for one hour.
    /// @param pitch number of the pitch, 1 to 4
    /// @param day day of the month, 1 to 31
    /// @param hour when it begins, 8 to 20
    function reservePitch(uint8 pitch, uint8 day, uint8 hour) external {
        _reserve(pitch, day, hour, msg.sender);
    }

    /// @notice Gives a reserved hour back.
    /// @param pitch number of the pitch, 1 to 4
    /// @param day day of the month, 1 to 31
    /// @param hour when it begins, 8 to 20
    function releasePitch(uint8 pitch, uint8 day, uint8 hour) external {
        if (reservedBy[pitch][day][hour] != msg.sender) revert NotYours(pitch, day, hour);
        delete reservedBy[pitch][day][hour];
        emit Released(pitch, day, hour);
    }

    function reserveFor(address team, uint8 pitch, uint8 day, uint8 hour) external onlyOwner {
        _reserve(pitch, day, hour, team);
    }

    function _reserve(uint8 pitch, uint8 day, uint8 hour, address team) private {
        if (pitch == 0 || pitch > PITCHES) revert NoSuchPitch(pitch);
        if (day == 0 || day > 31 || hour < 8 || hour > 20) revert NoSuchHour(day, hour);
        if (reservedBy[pitch][day][hour] != address(0)) revert AlreadyReserved(pitch, day, hour);
        reservedBy[pitch][day][hour] = team;
        emit Reserved(pitch, day, hour, team);
    }
}

contract Squad is Ownable {
    struct Result {
        string opponent;
        uint8 goalsFor;
        uint8 goalsAgainst;
    }

    uint8 public constant MAX_SHIRT = 99;

    address public coach;
    address public captain;
    mapping(address => uint8) public shirtOf;
    mapping(uint8 => address) public playerWithShirt;
    mapping(address => uint256) private goals;
    mapping(address => uint8) public suspendedMatches;
    Result[] public results;

    event PlayerSignedUp(address indexed player, uint8 shirtNumber);
    event CaptainChanged(address indexed player);
    event PlayerSuspended(address indexed player, uint8 matches);

    modifier onlyCoach() {
        require(msg.sender == coach || msg.sender == owner(), "not the coach");
        _;
    }

    modifier inSquad(address player) {
        require(shirtOf[player] != 0, "not in the squad");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setCoach(address account) external onlyOwner {
        coach = account;
    }

    function signUp(address player, uint8 shirtNumber) external onlyCoach {
        require(shirtOf[player] == 0, "already in the squad");
        require(shirtNumber > 0 && shirtNumber <= MAX_SHIRT, "no such number");
        require(playerWithShirt[shirtNumber] == address(0), "number taken");
        shirtOf[player] = shirtNumber;
        playerWithShirt[shirtNumber] = player;
        emit PlayerSignedUp(player, shirtNumber);
    }

    function setCaptain(address player) external onlyCoach inSquad(player) {
        captain = player;
        emit CaptainChanged(player);
    }

    function addGoals(address player, uint256 numberOfGoals) external onlyCoach inSquad(player) {
        require(numberOfGoals > 0, "no goals");
        goals[player] += numberOfGoals;
    }

    function suspendPlayer(address player, uint8 matches) external onlyCoach inSquad(player) {
        require(matches > 0 && matches <= 10, "1 to 10 matches");
        suspendedMatches[player] = matches;
        emit PlayerSuspended(player, matches);
    }

    function recordResult(string calldata opponent, uint8 goalsFor, uint8 goalsAgainst) external onlyCoach {
        results.push(Result(opponent, goalsFor, goalsAgainst));
    }

    function goalsOf(address player) external view inSquad(player) returns (uint256) {
        return goals[player];
    }
}
