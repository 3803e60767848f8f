// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title The boathouse: kayaks, showers, the gate, the log, and what to buy
contract Boathouse is Ownable {
    struct Hire {
        address guest;
        uint256 numberOfHours;
    }

    error NotTheDesk(address caller);
    error NoSuchKayak(uint256 kayak);
    error KayakOut(uint256 kayak);
    error KayakIn(uint256 kayak);
    error TooLong(uint256 numberOfHours);
    error NoSuchShower(uint256 shower);
    error Implausible(int256 celsius);

    event KayakLent(uint256 indexed kayak, address indexed guest, uint256 numberOfHours);
    event KayakReturned(uint256 indexed kayak);

    uint256 public constant KAYAKS = 12;
    uint256 public constant SHOWERS = 8;

    mapping(address => bool) public isDesk;
    mapping(uint256 kayak => Hire) public hires;
    mapping(uint256 shower => bool) public isShowerClosed;
    string[] public log;
    string[] public supplies;
    bool public isGateLocked;
    int256 private celsius;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (!isDesk[msg.sender] && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address desk, bool allowed) external onlyOwner {
        isDesk[desk] = allowed;
    }

    function lendKayak(uint256 kayak, address guest, uint256 numberOfHours) external onlyDesk {
        if (kayak == 0 || kayak > KAYAKS) revert NoSuchKayak(kayak);
        if (hires[kayak].guest != address(0)) revert KayakOut(kayak);
        if (numberOfHours == 0 || numberOfHours > 10) revert TooLong(numberOfHours);
        hires[kayak] = Hire(guest, numberOfHours);
        emit KayakLent(kayak, guest, numberOfHours);
    }

    function returnKayak(uint256 kayak) external onlyDesk {
        if (hires[kayak].guest == address(0)) revert KayakIn(kayak);
        delete hires[kayak];
        emit KayakReturned(kayak);
    }

    function writeLog(string calldata entry) external onlyDesk {
        log.push(entry);
    }

    function orderSupplies(string[] calldata items) external onlyDesk {
        for (uint256 i = 0; i < items.length; i++) supplies.push(items[i]);
    }

    function closeShowers(uint256[] calldata showers) external onlyDesk {
        for (uint256 i = 0; i < showers.length; i++) {
            if (showers[i] == 0 || showers[i] > SHOWERS) revert NoSuchShower(showers[i]);
            isShowerClosed[showers[i]] = true;
        }
    }

    function setGateLocked(bool locked) external onlyDesk {
        isGateLocked = locked;
    }

    function recordWaterTemperature(int256 degrees) external onlyDesk {
        if (degrees < -2 || degrees > 35) revert Implausible(degrees);
        celsius = degrees;
    }

    function waterTemperature() external view returns (int256) {
        return celsius;
    }
}

/// @title Writes a temperature
contract DegreesText is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toStringSigned(abi.decode(result, (int256))), " degrees Celsius");
    }
}
