// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title Ovens, batches, flour and shifts of the bakehouse
contract Bakehouse is Ownable {
    error NotAllowed(address caller);
    error NoSuchOven(uint256 oven);
    error TooHotOrCold(int256 celsius);
    error UnknownProduct(string product);
    error UnknownFlour(string flour);
    error TooManyTrays(uint256 trays);
    error ShiftTaken(uint256 day, bool early);

    event BatchStarted(string product, uint256 trays);
    event Wasted(string product, uint256 pieces);
    event ShiftAssigned(address indexed baker, uint256 day, bool early);

    uint256 public constant OVENS = 5;

    mapping(address => bool) public isAllowed;
    mapping(bytes32 => bool) private isProduct;
    mapping(bytes32 => bool) private isFlour;
    mapping(bytes32 => uint256) private kilograms;
    mapping(bytes32 => uint256) private traysStarted;
    mapping(bytes32 => uint256) private wasted;
    mapping(bytes32 => string[]) private allergens;
    mapping(uint256 oven => int256) public temperature;
    mapping(uint256 oven => uint256) public timesCleaned;
    mapping(uint256 day => mapping(bool early => address)) public shifts;

    constructor() Ownable(msg.sender) {}

    modifier onlyAllowed() {
        if (!isAllowed[msg.sender] && msg.sender != owner()) revert NotAllowed(msg.sender);
        _;
    }

    function setAllowed(address account, bool allowed) external onlyOwner {
        isAllowed[account] = allowed;
    }

    function addProducts(string[] calldata products) external onlyOwner {
        for (uint256 i = 0; i < products.length; i++) isProduct[_key(products[i])] = true;
    }

    function setFlour(string calldata flour, uint256 amount) external onlyOwner {
        isFlour[_key(flour)] = true;
        kilograms[_key(flour)] = amount;
    }

    function setOven(uint256 oven, int256 celsius) external onlyAllowed {
        if (oven == 0 || oven > OVENS) revert NoSuchOven(oven);
        if (celsius < 20 || celsius > 300) revert TooHotOrCold(celsius);
        temperature[oven] = celsius;
    }

    function startBatch(string calldata product, uint256 trays) external onlyAllowed {
        if (trays == 0 || trays > 20) revert TooManyTrays(trays);
        traysStarted[_product(product)] += trays;
        emit BatchStarted(product, trays);
    }

    function logWaste(string calldata product, uint256 pieces) external onlyAllowed {
        wasted[_product(product)] += pieces;
        emit Wasted(product, pieces);
    }

    function setAllergens(string calldata product, string[] calldata names) external onlyAllowed {
        bytes32 key = _product(product);
        delete allergens[key];
        for (uint256 i = 0; i < names.length; i++) allergens[key].push(names[i]);
    }

    function markCleaned(uint256[] calldata ovens) external onlyAllowed {
        for (uint256 i = 0; i < ovens.length; i++) {
            if (ovens[i] == 0 || ovens[i] > OVENS) revert NoSuchOven(ovens[i]);
            timesCleaned[ovens[i]]++;
        }
    }

    function assignShift(address baker, uint256 day, bool early) external onlyAllowed {
        require(day > 0 && day <= 31, "no such day");
        if (shifts[day][early] != address(0)) revert ShiftTaken(day, early);
        shifts[day][early] = baker;
        emit ShiftAssigned(baker, day, early);
    }

    function flourLeft(string calldata flour) external view returns (uint256) {
        bytes32 key = _key(flour);
        if (!isFlour[key]) revert UnknownFlour(flour);
        return kilograms[key];
    }

    function _product(string calldata product) private view returns (bytes32 key) {
        key = _key(product);
        if (!isProduct[key]) revert UnknownProduct(product);
    }

    // Capital letters do not matter.
    function _key(string calldata text) private pure returns (bytes32) {
        bytes memory letters = bytes(text);
        for (uint256 i = 0; i < letters.length; i++) {
            if (letters[i] >= 0x41 && letters[i] <= 0x5a) letters[i] = bytes1(uint8(letters[i]) + 32);
        }
        return keccak256(letters);
    }
}

/// @title Writes a weight
contract KilogramText is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " kg");
    }
}
