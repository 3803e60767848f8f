// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title Bags of grain in the store
contract GrainStore is Ownable {
    error NotTheDesk(address caller);
    error UnknownGrain(string grain);
    error NotEnough(string grain, uint256 bags);
    error NoBags();
    error UnknownLot(uint256 lot);
    error OutOfRange(int256 celsius);

    event Received(string grain, uint256 bags);
    event HandedOut(string grain, uint256 bags, address indexed member);
    event LotDiscarded(uint256 indexed lot);

    uint256 public constant LAST_LOT = 60;

    mapping(address => bool) public isDesk;
    mapping(bytes32 => bool) private isListed;
    mapping(bytes32 => uint256) private stock;
    mapping(address member => uint256) public bagsTaken;
    mapping(uint256 lot => bool) public isDiscarded;
    uint256[] public shelfCounts;
    int256 public temperature;
    bool public isLocked;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (!isDesk[msg.sender] && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address desk, bool allowed) external onlyOwner {
        isDesk[desk] = allowed;
    }

    function listGrain(string calldata grain) external onlyOwner {
        isListed[_key(grain)] = true;
    }

    function receiveGrain(string calldata grain, uint256 bags) external onlyDesk {
        bytes32 key = _listed(grain);
        if (bags == 0) revert NoBags();
        stock[key] += bags;
        emit Received(grain, bags);
    }

    function handOut(string calldata grain, uint256 bags, address member) external onlyDesk {
        bytes32 key = _listed(grain);
        if (bags == 0) revert NoBags();
        if (bags > stock[key]) revert NotEnough(grain, stock[key]);
        stock[key] -= bags;
        bagsTaken[member] += bags;
        emit HandedOut(grain, bags, member);
    }

    function recordCounts(uint256[] calldata counts) external onlyDesk {
        shelfCounts = counts;
    }

    function discardLots(uint256[] calldata lots) external onlyDesk {
        for (uint256 i = 0; i < lots.length; i++) {
            if (lots[i] == 0 || lots[i] > LAST_LOT || isDiscarded[lots[i]]) revert UnknownLot(lots[i]);
            isDiscarded[lots[i]] = true;
            emit LotDiscarded(lots[i]);
        }
    }

    function logTemperature(int256 celsius) external onlyDesk {
        if (celsius < -30 || celsius > 50) revert OutOfRange(celsius);
        temperature = celsius;
    }

    function setLocked(bool locked) external onlyDesk {
        isLocked = locked;
    }

    function bagsLeft(string calldata grain) external view returns (uint256) {
        return stock[_listed(grain)];
    }

    function _listed(string calldata grain) private view returns (bytes32 key) {
        key = _key(grain);
        if (!isListed[key]) revert UnknownGrain(grain);
    }

    // Capital letters do not matter.
    function _key(string calldata grain) private pure returns (bytes32) {
        bytes memory text = bytes(grain);
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] >= 0x41 && text[i] <= 0x5a) text[i] = bytes1(uint8(text[i]) + 32);
        }
        return keccak256(text);
    }
}

/// @title Writes how many bags
contract BagCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " bags");
    }
}
