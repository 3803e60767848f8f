// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import "@openzeppelin/contracts/access/Ownable.sol";
import "@openzeppelin/contracts/utils/Strings.sol";
import "contracts/interfaces/ToolResultConverter.sol";

contract QuestBoard is Ownable {
    struct Quest {
        string title;
        uint256 reward;
        uint256 places;
        uint256 lastSeason;
        bool open;
    }

    mapping(address => bool) public isHerald;
    mapping(uint256 => Quest) public quests;
    mapping(uint256 => mapping(address => bool)) public isAssigned;
    uint256 public questCount;

    modifier onlyHerald() {
        require(isHerald[msg.sender], "not a herald");
        _;
    }

    modifier isOpen(uint256 questId) {
        require(quests[questId].open, "no open quest");
        _;
    }

    constructor() Ownable(msg.sender) {
        isHerald[msg.sender] = true;
    }

    function setHerald(address account, bool allowed) external onlyOwner {
        isHerald[account] = allowed;
    }

    function post(string calldata title, uint256 reward, uint256 places, uint256 lastSeason)
        external
        onlyHerald
        returns (uint256 questId)
    {
        require(places > 0, "no places");
        questId = ++questCount;
        quests[questId] = Quest(title, reward, places, lastSeason, true);
    }

    function assign(uint256 questId, address hero) external onlyHerald isOpen(questId) {
        Quest storage quest = quests[questId];
        require(quest.places > 0, "full");
        require(!isAssigned[questId][hero], "already assigned");
        quest.places -= 1;
        isAssigned[questId][hero] = true;
    }

    function release(uint256 questId, address hero) external onlyHerald isOpen(questId) {
        require(isAssigned[questId][hero], "not assigned");
        quests[questId].places += 1;
        isAssigned[questId][hero] = false;
    }

    function raiseReward(uint256 questId, uint256 by) external onlyHerald isOpen(questId) {
        quests[questId].reward += by;
    }

    function lowerReward(uint256 questId, uint256 by) external onlyHerald isOpen(questId) {
        require(by < quests[questId].reward, "reward too low");
        quests[questId].reward -= by;
    }

    function rewardOf(uint256 questId) external view isOpen(questId) returns (uint256) {
        return quests[questId].reward;
    }
}

contract QuestNumber is ToolResultConverter {
    function convertToString(bytes memory result) external pure returns (string memory) {
        return Strings.toString(abi.decode(result, (uint256)));
    }
}
