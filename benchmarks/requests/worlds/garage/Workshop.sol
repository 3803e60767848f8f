// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

contract WorkshopDesk is Ownable {
    mapping(address => bool) public isDesk;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        require(isDesk[msg.sender] || msg.sender == owner(), "not the desk");
        _;
    }

    function setDesk(address account, bool allowed) external onlyOwner {
        isDesk[account] = allowed;
    }
}

/// @title Appointments in the bays of the workshop, in the current month
contract BayPlan is WorkshopDesk {
    error NoSuchBay(uint256 bay);
    error NoSuchTime(uint256 day, uint256 hour, uint256 minute);
    error Taken(uint256 bay, uint256 day, uint256 hour, uint256 minute);
    error NotTaken(uint256 bay, uint256 day, uint256 hour, uint256 minute);

    uint256 public constant BAYS = 6;
    mapping(bytes32 slot => bool) private isTaken;

    function book(uint256 bay, uint256 day, uint256 hour, uint256 minute) external onlyDesk {
        bytes32 slot = _slot(bay, day, hour, minute);
        if (isTaken[slot]) revert Taken(bay, day, hour, minute);
        isTaken[slot] = true;
    }

    function free(uint256 bay, uint256 day, uint256 hour, uint256 minute) external onlyDesk {
        bytes32 slot = _slot(bay, day, hour, minute);
        if (!isTaken[slot]) revert NotTaken(bay, day, hour, minute);
        isTaken[slot] = false;
    }

    // Quarters of an hour from 7:00 to 18:45.
    function _slot(uint256 bay, uint256 day, uint256 hour, uint256 minute) private pure returns (bytes32) {
        if (bay == 0 || bay > BAYS) revert NoSuchBay(bay);
        if (day == 0 || day > 31 || hour < 7 || hour > 18 || minute > 45 || minute % 15 != 0) {
            revert NoSuchTime(day, hour, minute);
        }
        return keccak256(abi.encode(bay, day, hour, minute));
    }
}

/// @title Tyres and parts in stock
contract PartStock is WorkshopDesk {
    error UnknownPart(uint256 partNumber);
    error TooFew(uint256 partNumber, uint256 inStock);
    error LengthMismatch(uint256 partNumbers, uint256 counts);

    uint256 public constant LAST_PART = 500;
    mapping(uint256 partNumber => uint256) private stock;

    function receiveParts(uint256[] calldata partNumbers, uint256[] calldata counts) external onlyDesk {
        if (partNumbers.length != counts.length) revert LengthMismatch(partNumbers.length, counts.length);
        for (uint256 i = 0; i < counts.length; i++) {
            _check(partNumbers[i]);
            stock[partNumbers[i]] += counts[i];
        }
    }

    function takeParts(uint256 partNumber, uint256 count) external onlyDesk {
        _check(partNumber);
        if (count == 0 || count > stock[partNumber]) revert TooFew(partNumber, stock[partNumber]);
        stock[partNumber] -= count;
    }

    function countOf(uint256 partNumber) external view returns (uint256) {
        _check(partNumber);
        return stock[partNumber];
    }

    function _check(uint256 partNumber) private pure {
        if (partNumber == 0 || partNumber > LAST_PART) revert UnknownPart(partNumber);
    }
}

/// @title Jobs of the workshop: who does them, and notes about them
contract JobBook is WorkshopDesk {
    error NoSuchJob(uint256 job);
    error EmptyNote();

    uint256 public constant LAST_JOB = 260;
    mapping(uint256 job => string[]) public notes;
    mapping(uint256 job => address) public mechanicOf;

    function addNote(uint256 job, string calldata note) external onlyDesk {
        _check(job);
        if (bytes(note).length == 0) revert EmptyNote();
        notes[job].push(note);
    }

    function assignMechanic(uint256 job, address mechanic) external onlyDesk {
        _check(job);
        mechanicOf[job] = mechanic;
    }

    function _check(uint256 job) private pure {
        if (job < 200 || job > LAST_JOB) revert NoSuchJob(job);
    }
}

/// @title Writes how many parts
contract PartCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " in stock");
    }
}
