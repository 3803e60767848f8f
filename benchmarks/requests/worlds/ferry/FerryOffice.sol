// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

abstract contract FerryCounter is Ownable {
    error NotACounter(address caller);

    mapping(address => bool) public isCounter;

    constructor() Ownable(msg.sender) {}

    modifier onlyCounter() {
        if (!isCounter[msg.sender] && msg.sender != owner()) revert NotACounter(msg.sender);
        _;
    }

    function setCounter(address account, bool allowed) external onlyOwner {
        isCounter[account] = allowed;
    }
}

/// @title Sailings of the month, and their cabins
contract SailingPlan is FerryCounter {
    struct Sailing {
        uint256 day;
        uint256 hour;
        uint256 minutesLate;
        uint256 cabinsTaken;
    }

    error NoSuchSailing(uint256 sailing);
    error NoSuchTime(uint256 day, uint256 hour);
    error TooLate(uint256 minutesLate);
    error NoSuchCabin(uint256 cabin);
    error CabinTaken(uint256 sailing, uint256 cabin);

    uint256 public constant CABINS = 24;

    uint256 public sailingCount;
    mapping(uint256 sailing => Sailing) public sailings;
    mapping(uint256 sailing => mapping(uint256 cabin => address)) public guestOf;

    modifier exists(uint256 sailing) {
        if (sailing == 0 || sailing > sailingCount) revert NoSuchSailing(sailing);
        _;
    }

    function schedule(uint256 day, uint256 hour) external onlyCounter {
        if (day == 0 || day > 31 || hour < 5 || hour > 22) revert NoSuchTime(day, hour);
        sailings[++sailingCount] = Sailing(day, hour, 0, 0);
    }

    function delay(uint256 sailing, uint256 minutesLate) external onlyCounter exists(sailing) {
        if (minutesLate == 0 || minutesLate > 240) revert TooLate(minutesLate);
        sailings[sailing].minutesLate = minutesLate;
    }

    function bookCabin(uint256 sailing, uint256 cabin, address guest) external onlyCounter exists(sailing) {
        if (cabin == 0 || cabin > CABINS) revert NoSuchCabin(cabin);
        if (guestOf[sailing][cabin] != address(0)) revert CabinTaken(sailing, cabin);
        guestOf[sailing][cabin] = guest;
        sailings[sailing].cabinsTaken++;
    }

    function freeCabins(uint256 sailing) external view exists(sailing) returns (uint256) {
        return CABINS - sailings[sailing].cabinsTaken;
    }
}

/// @title Who works on which sailing
contract CrewRota is FerryCounter {
    error AlreadyOnBoard(address member, uint256 sailing);
    error NotOnBoard(address member, uint256 sailing);

    mapping(uint256 sailing => mapping(address => bool)) public isOnBoard;

    function assign(address member, uint256 sailing) external onlyCounter {
        if (isOnBoard[sailing][member]) revert AlreadyOnBoard(member, sailing);
        isOnBoard[sailing][member] = true;
    }

    function relieve(address member, uint256 sailing) external onlyCounter {
        if (!isOnBoard[sailing][member]) revert NotOnBoard(member, sailing);
        isOnBoard[sailing][member] = false;
    }
}

/// @title Things that were left on board
contract LostProperty is FerryCounter {
    error NoSuchItem(uint256 number);
    error AlreadyHandedBack(uint256 number);

    event Registered(uint256 indexed number, string item);

    string[] private items;
    mapping(uint256 number => address) public handedTo;

    function register(string calldata item) external onlyCounter {
        items.push(item);
        emit Registered(items.length, item);
    }

    function handBack(uint256 number, address owner_) external onlyCounter {
        if (number == 0 || number > items.length) revert NoSuchItem(number);
        if (handedTo[number] != address(0)) revert AlreadyHandedBack(number);
        handedTo[number] = owner_;
    }
}

/// @title Writes how many cabins
contract CabinCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " cabins are free");
    }
}
