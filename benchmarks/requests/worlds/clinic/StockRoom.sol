// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title Supplies of the practice, its freezer and its medicine cabinet
contract StockRoom is Ownable {
    error NotKeeper(address caller);
    error UnknownItem(string item);
    error NotEnough(string item, uint256 inStock);
    error UnknownBatch(uint256 batch);
    error TemperatureOutOfRange(int256 celsius);

    event HandedOut(string item, uint256 quantity, address indexed employee);

    mapping(address => bool) public isKeeper;
    mapping(bytes32 => bool) private isListed;
    mapping(bytes32 => uint256) private levels;
    mapping(bytes32 => mapping(address employee => uint256)) private handed;
    mapping(uint256 batch => bool) public isBatch;
    string[] public shoppingList;
    int256 public freezerTarget = -20;
    bool public isCabinetLocked;

    constructor() Ownable(msg.sender) {}

    modifier onlyKeeper() {
        if (!isKeeper[msg.sender] && msg.sender != owner()) revert NotKeeper(msg.sender);
        _;
    }

    function setKeeper(address keeper, bool allowed) external onlyOwner {
        isKeeper[keeper] = allowed;
    }

    function listItem(string calldata item, uint256 quantity) external onlyOwner {
        isListed[_key(item)] = true;
        levels[_key(item)] = quantity;
    }

    function listBatch(uint256 batch) external onlyOwner {
        isBatch[batch] = true;
    }

    function receiveStock(string calldata item, uint256 quantity) external onlyKeeper {
        levels[_listed(item)] += quantity;
    }

    function handOut(string calldata item, uint256 quantity, address employee) external onlyKeeper {
        bytes32 key = _listed(item);
        if (quantity > levels[key]) revert NotEnough(item, levels[key]);
        levels[key] -= quantity;
        handed[key][employee] += quantity;
        emit HandedOut(item, quantity, employee);
    }

    function levelOf(string calldata item) external view returns (uint256) {
        return levels[_listed(item)];
    }

    function addToOrder(string[] calldata items) external onlyKeeper {
        for (uint256 i = 0; i < items.length; i++) shoppingList.push(items[i]);
    }

    function discardBatches(uint256[] calldata batches) external onlyKeeper {
        for (uint256 i = 0; i < batches.length; i++) {
            if (!isBatch[batches[i]]) revert UnknownBatch(batches[i]);
            isBatch[batches[i]] = false;
        }
    }

    function setFreezer(int256 celsius) external onlyKeeper {
        if (celsius < -40 || celsius > -10) revert TemperatureOutOfRange(celsius);
        freezerTarget = celsius;
    }

    function setCabinetLocked(bool locked) external onlyKeeper {
        isCabinetLocked = locked;
    }

    function _listed(string calldata item) private view returns (bytes32 key) {
        key = _key(item);
        if (!isListed[key]) revert UnknownItem(item);
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

/// @title Writes how many there are
contract PieceCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " in stock");
    }
}
