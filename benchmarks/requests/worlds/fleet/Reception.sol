// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title The reception of an animal shelter: visits, diary, shopping list, dog runs
contract Reception is Ownable {
    struct Visit {
        address visitor;
        uint256 animal;
        uint256 day;
        uint256 hour;
    }

    error NotTheDesk(address caller);
    error NoSuchTime(uint256 day, uint256 hour);
    error AlreadyVisited(uint256 animal, uint256 day, uint256 hour);
    error NoSuchVisit(uint256 visit);
    error NoSuchRun(uint256 run);

    event VisitBooked(uint256 indexed visit, address indexed visitor, uint256 animal, uint256 day, uint256 hour);
    event VisitCancelled(uint256 indexed visit);

    uint256 public constant RUNS = 10;

    mapping(address => bool) public isDesk;
    mapping(uint256 visit => Visit) public visits;
    mapping(uint256 animal => mapping(uint256 day => mapping(uint256 hour => uint256 visit))) public visitAt;
    mapping(uint256 day => uint256) private visitsOfDay;
    mapping(uint256 run => bool) public isRunClosed;
    string[] public diary;
    string[] public shoppingList;
    uint256 public lastVisit = 30;
    bool public isOpen;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (!isDesk[msg.sender] && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address desk, bool allowed) external onlyOwner {
        isDesk[desk] = allowed;
    }

    function bookVisit(address visitor, uint256 animal, uint256 day, uint256 hour)
        external
        onlyDesk
        returns (uint256 visit)
    {
        if (day == 0 || day > 31 || hour < 10 || hour > 17) revert NoSuchTime(day, hour);
        if (visitAt[animal][day][hour] != 0) revert AlreadyVisited(animal, day, hour);
        visit = ++lastVisit;
        visits[visit] = Visit(visitor, animal, day, hour);
        visitAt[animal][day][hour] = visit;
        visitsOfDay[day]++;
        emit VisitBooked(visit, visitor, animal, day, hour);
    }

    function cancelVisit(uint256 visit) external onlyDesk {
        Visit storage booked = visits[visit];
        if (booked.visitor == address(0)) revert NoSuchVisit(visit);
        delete visitAt[booked.animal][booked.day][booked.hour];
        visitsOfDay[booked.day]--;
        delete visits[visit];
        emit VisitCancelled(visit);
    }

    function writeDiary(string calldata entry) external onlyDesk {
        diary.push(entry);
    }

    function addToShoppingList(string[] calldata things) external onlyDesk {
        for (uint256 i = 0; i < things.length; i++) shoppingList.push(things[i]);
    }

    function closeRuns(uint256[] calldata runs) external onlyDesk {
        for (uint256 i = 0; i < runs.length; i++) {
            if (runs[i] == 0 || runs[i] > RUNS) revert NoSuchRun(runs[i]);
            isRunClosed[runs[i]] = true;
        }
    }

    function setOpen(bool open) external onlyDesk {
        isOpen = open;
    }

    function visitsOn(uint256 day) external view returns (uint256) {
        return visitsOfDay[day];
    }
}

/// @title Writes a number of visits
contract VisitCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " visits");
    }
}

/// @title Writes the number of a visit
contract VisitNumber is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat("Booked as visit ", Strings.toString(abi.decode(result, (uint256))));
    }
}
