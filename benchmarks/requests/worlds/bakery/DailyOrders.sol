// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title What the bakehouse has to bake today
contract DailyOrders is Ownable {
    struct Line {
        bool isListed;
        bool isSoldOut;
        uint256 count;
    }

    error NotAClerk(address caller);
    error UnknownProduct(string product);
    error NothingOrdered(string product);
    error WrongCount(uint256 count);

    uint256 public constant MOST = 500;
    mapping(address => bool) public isClerk;
    mapping(bytes32 => Line) private lines;
    bool public hasDelivery;

    constructor() Ownable(msg.sender) {}

    modifier onlyClerk() {
        if (!isClerk[msg.sender] && msg.sender != owner()) revert NotAClerk(msg.sender);
        _;
    }

    function setClerk(address clerk, bool allowed) external onlyOwner {
        isClerk[clerk] = allowed;
    }

    function listProducts(string[] calldata products) external onlyOwner {
        for (uint256 i = 0; i < products.length; i++) lines[_key(products[i])].isListed = true;
    }

    function placeOrder(string calldata product, uint256 count) external onlyClerk {
        Line storage line = _listed(product);
        if (count == 0 || line.count + count > MOST) revert WrongCount(count);
        line.count += count;
    }

    function changeOrder(string calldata product, uint256 count) external onlyClerk {
        if (count == 0 || count > MOST) revert WrongCount(count);
        _ordered(product).count = count;
    }

    function cancelOrder(string calldata product) external onlyClerk {
        _ordered(product).count = 0;
    }

    function markSoldOut(string[] calldata products) external onlyClerk {
        for (uint256 i = 0; i < products.length; i++) _listed(products[i]).isSoldOut = true;
    }

    function setDelivery(bool on) external onlyClerk {
        hasDelivery = on;
    }

    function orderCount(string calldata product) external view returns (uint256) {
        return _listed(product).count;
    }

    function _ordered(string calldata product) private view returns (Line storage line) {
        line = _listed(product);
        if (line.count == 0) revert NothingOrdered(product);
    }

    function _listed(string calldata product) private view returns (Line storage line) {
        line = lines[_key(product)];
        if (!line.isListed) revert UnknownProduct(product);
    }

    // Neither capital letters nor the s of a plural matter.
    function _key(string calldata product) private pure returns (bytes32) {
        bytes memory text = bytes(product);
        uint256 size = text.length;
        for (uint256 i = 0; i < size; i++) {
            if (text[i] >= 0x41 && text[i] <= 0x5a) text[i] = bytes1(uint8(text[i]) + 32);
        }
        if (size > 1 && text[size - 1] == "s") {
            assembly ("memory-safe") {
                mstore(text, sub(size, 1))
            }
        }
        return keccak256(text);
    }
}

/// @title Writes how many pieces
contract PieceCount is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " ordered");
    }
}
