// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title The costume store: each costume has a name and an inventory number
contract CostumeStore is Ownable {
    error NotTheDesk(address caller);
    error UnknownCostume(string costume);
    error UnknownNumber(uint256 number);
    error AlreadyOut(uint256 number);
    error NotOut(uint256 number);
    error InCleaning(uint256 number);
    error AlreadyListed(string costume);
    error StoreClosed();

    event CostumeLent(uint256 indexed number, address indexed borrower);
    event CostumeReturned(uint256 indexed number);

    mapping(address => bool) public isDesk;
    mapping(bytes32 => uint256) private numbers;
    mapping(uint256 number => address) public borrowerOf;
    mapping(uint256 number => bool) public isInCleaning;
    mapping(address borrower => uint256) private counts;
    uint256 public lastNumber;
    bool public isOpen = true;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (!isDesk[msg.sender] && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address desk, bool allowed) external onlyOwner {
        isDesk[desk] = allowed;
    }

    function lendByName(string calldata costume, address borrower) external onlyDesk {
        uint256 number = numbers[_key(costume)];
        if (number == 0) revert UnknownCostume(costume);
        _lend(number, borrower);
    }

    function lendByNumber(uint256 number, address borrower) external onlyDesk {
        _lend(number, borrower);
    }

    function takeBack(uint256 number) external onlyDesk {
        address borrower = borrowerOf[number];
        if (borrower == address(0)) revert NotOut(number);
        counts[borrower]--;
        delete borrowerOf[number];
        emit CostumeReturned(number);
    }

    function sendToCleaning(uint256[] calldata list) external onlyDesk {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == 0 || list[i] > lastNumber) revert UnknownNumber(list[i]);
            if (borrowerOf[list[i]] != address(0)) revert AlreadyOut(list[i]);
            if (isInCleaning[list[i]]) revert InCleaning(list[i]);
            isInCleaning[list[i]] = true;
        }
    }

    function addCostumes(string[] calldata costumes) external onlyDesk {
        for (uint256 i = 0; i < costumes.length; i++) {
            bytes32 key = _key(costumes[i]);
            if (numbers[key] != 0) revert AlreadyListed(costumes[i]);
            numbers[key] = ++lastNumber;
        }
    }

    function setOpen(bool open) external onlyDesk {
        isOpen = open;
    }

    function costumesOf(address borrower) external view returns (uint256) {
        return counts[borrower];
    }

    function _lend(uint256 number, address borrower) private {
        if (!isOpen) revert StoreClosed();
        if (number == 0 || number > lastNumber) revert UnknownNumber(number);
        if (borrowerOf[number] != address(0)) revert AlreadyOut(number);
        if (isInCleaning[number]) revert InCleaning(number);
        borrowerOf[number] = borrower;
        counts[borrower]++;
        emit CostumeLent(number, borrower);
    }

    // Capital letters do not matter.
    function _key(string calldata costume) private pure returns (bytes32) {
        bytes memory text = bytes(costume);
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] >= 0x41 && text[i] <= 0x5a) text[i] = bytes1(uint8(text[i]) + 32);
        }
        return keccak256(text);
    }
}

/// @title Writes how many costumes
contract CostumeCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat("costumes out: ", Strings.toString(abi.decode(result, (uint256))));
    }
}
