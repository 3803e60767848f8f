// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

contract GameFloor is Ownable {
    struct Machine {
        bool isRunning;
        int256 difficulty;
        string party;
    }

    uint256 public constant MACHINES = 24;

    mapping(address => bool) public isStaff;
    mapping(uint256 => Machine) public machines;
    mapping(address => uint256) private credits;
    mapping(bytes32 => bool) private isGame;
    mapping(bytes32 => uint256) private best;
    mapping(bytes32 => mapping(address => uint256)) private scores;
    mapping(address => bool) public isEntered;

    event ScoreRecorded(string game, address indexed player, uint256 points);

    constructor() Ownable(msg.sender) {
        for (uint256 machine = 1; machine <= MACHINES; machine++) machines[machine].isRunning = true;
    }

    modifier onlyStaff() {
        require(isStaff[msg.sender] || msg.sender == owner(), "staff only");
        _;
    }

    modifier exists(uint256 machine) {
        require(machine > 0 && machine <= MACHINES, "no such machine");
        _;
    }

    function setStaff(address account, bool allowed) external onlyOwner {
        isStaff[account] = allowed;
    }

    function addGame(string calldata game) external onlyOwner {
        isGame[_key(game)] = true;
    }

    function addCredits(address player, uint256 amount) external onlyStaff {
        require(amount > 0 && amount <= 500, "bad amount");
        credits[player] += amount;
    }

    function creditsOf(address player) external view returns (uint256) {
        return credits[player];
    }

    function recordScore(string calldata game, address player, uint256 points) external onlyStaff {
        bytes32 key = _known(game);
        require(points > 0, "no points");
        scores[key][player] = points;
        if (points > best[key]) best[key] = points;
        emit ScoreRecorded(game, player, points);
    }

    function bestScore(string calldata game) external view returns (uint256) {
        return best[_known(game)];
    }

    function setRunning(uint256 machine, bool running) external onlyStaff exists(machine) {
        machines[machine].isRunning = running;
    }

    function setDifficulty(uint256 machine, int256 level) external onlyStaff exists(machine) {
        require(level >= -5 && level <= 5, "bad level");
        machines[machine].difficulty = level;
    }

    function reserveMachines(uint256[] calldata chosen, string calldata party) external onlyStaff {
        for (uint256 i = 0; i < chosen.length; i++) {
            require(chosen[i] > 0 && chosen[i] <= MACHINES, "no such machine");
            require(bytes(machines[chosen[i]].party).length == 0, "already reserved");
            machines[chosen[i]].party = party;
        }
    }

    function enterPlayers(address[] calldata players) external onlyStaff {
        for (uint256 i = 0; i < players.length; i++) {
            require(!isEntered[players[i]], "already entered");
            isEntered[players[i]] = true;
        }
    }

    function _known(string calldata game) private view returns (bytes32 key) {
        key = _key(game);
        require(isGame[key], "unknown game");
    }

    // upper and lower case are the same
    function _key(string calldata game) private pure returns (bytes32) {
        bytes memory text = bytes(game);
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] >= 0x41 && text[i] <= 0x5a) text[i] = bytes1(uint8(text[i]) + 32);
        }
        return keccak256(text);
    }
}

// Numbers of credits and points
contract PlainNumber is ToolResultConverter {
    function convertToString(bytes memory result) external pure returns (string memory) {
        return Strings.toString(abi.decode(result, (uint256)));
    }
}
