// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title The club house: notice board, ball machine, floodlights
contract ClubHouse is Ownable {
    error NotTheDesk(address caller);
    error NoSuchNotice(uint256 number);
    error EmptyNotice();
    error NoSuchTime(uint256 day, uint256 hour);
    error MachineTaken(uint256 day, uint256 hour);

    mapping(address => bool) public isDesk;
    mapping(uint256 number => string) private notices;
    mapping(uint256 number => bool) public isPinned;
    uint256 public lastNotice;
    mapping(uint256 day => mapping(uint256 hour => address)) public machineRentedBy;
    bool public floodlights;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (!isDesk[msg.sender] && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address desk, bool allowed) external onlyOwner {
        isDesk[desk] = allowed;
    }

    function postNotice(string calldata text) external onlyDesk {
        if (bytes(text).length == 0) revert EmptyNotice();
        notices[++lastNotice] = text;
    }

    function removeNotice(uint256 number) external onlyDesk {
        _check(number);
        delete notices[number];
        delete isPinned[number];
    }

    function pinNotices(uint256[] calldata numbers) external onlyDesk {
        for (uint256 i = 0; i < numbers.length; i++) {
            _check(numbers[i]);
            isPinned[numbers[i]] = true;
        }
    }

    function rentMachine(address member, uint256 day, uint256 hour) external onlyDesk {
        if (day == 0 || day > 31 || hour < 7 || hour > 21) revert NoSuchTime(day, hour);
        if (machineRentedBy[day][hour] != address(0)) revert MachineTaken(day, hour);
        machineRentedBy[day][hour] = member;
    }

    function setFloodlights(bool on) external onlyDesk {
        floodlights = on;
    }

    function noticeText(uint256 number) external view returns (string memory) {
        _check(number);
        return notices[number];
    }

    function _check(uint256 number) private view {
        if (bytes(notices[number]).length == 0) revert NoSuchNotice(number);
    }
}

/// @title Returns a text as it is
contract NoticeText is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return abi.decode(result, (string));
    }
}
