// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title A library of things: tools and games that families borrow
contract ThingLibrary is Ownable {
    struct Thing {
        bool isListed;
        address borrower;
        uint256 daysLeft;
    }

    error NotTheDesk(address caller);
    error UnknownThing(string item);
    error OnLoan(string item);
    error NotOnLoan(string item);
    error TooLong(uint256 numberOfDays);
    error UnknownNumber(uint256 number);

    event Lent(string item, address indexed borrower, uint256 numberOfDays);
    event TakenBack(string item);

    uint256 public constant LONGEST_LOAN = 28;

    mapping(address => bool) public isDesk;
    mapping(bytes32 => Thing) private things;
    mapping(uint256 number => bool) public isInRepair;
    uint256 public lastNumber = 40;
    bool public isOpen;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (!isDesk[msg.sender] && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address desk, bool allowed) external onlyOwner {
        isDesk[desk] = allowed;
    }

    function lend(string calldata item, address borrower, uint256 numberOfDays) external onlyDesk {
        Thing storage thing = _listed(item);
        if (thing.borrower != address(0)) revert OnLoan(item);
        if (numberOfDays == 0 || numberOfDays > LONGEST_LOAN) revert TooLong(numberOfDays);
        thing.borrower = borrower;
        thing.daysLeft = numberOfDays;
        emit Lent(item, borrower, numberOfDays);
    }

    function takeBack(string calldata item) external onlyDesk {
        Thing storage thing = _onLoan(item);
        thing.borrower = address(0);
        thing.daysLeft = 0;
        emit TakenBack(item);
    }

    function extendLoan(string calldata item, uint256 moreDays) external onlyDesk {
        Thing storage thing = _onLoan(item);
        if (moreDays == 0 || thing.daysLeft + moreDays > LONGEST_LOAN) revert TooLong(moreDays);
        thing.daysLeft += moreDays;
    }

    function addItems(string[] calldata items) external onlyDesk {
        for (uint256 i = 0; i < items.length; i++) {
            things[_key(items[i])].isListed = true;
            lastNumber++;
        }
    }

    function sendToRepair(uint256[] calldata numbers) external onlyDesk {
        for (uint256 i = 0; i < numbers.length; i++) {
            if (numbers[i] == 0 || numbers[i] > lastNumber || isInRepair[numbers[i]]) revert UnknownNumber(numbers[i]);
            isInRepair[numbers[i]] = true;
        }
    }

    function setOpen(bool open) external onlyDesk {
        isOpen = open;
    }

    function daysLeft(string calldata item) external view returns (uint256) {
        return _onLoan(item).daysLeft;
    }

    function _onLoan(string calldata item) private view returns (Thing storage thing) {
        thing = _listed(item);
        if (thing.borrower == address(0)) revert NotOnLoan(item);
    }

    function _listed(string calldata item) private view returns (Thing storage thing) {
        thing = things[_key(item)];
        if (!thing.isListed) revert UnknownThing(item);
    }

    // Capital letters do not matter.
    function _key(string calldata item) private pure returns (bytes32) {
        bytes memory text = bytes(item);
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] >= 0x41 && text[i] <= 0x5a) text[i] = bytes1(uint8(text[i]) + 32);
        }
        return keccak256(text);
    }
}

/// @title Writes how many days
contract DayCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " days left");
    }
}
