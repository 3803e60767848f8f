// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title The club's house
contract Clubhouse is Ownable {
    error NotKeeper(address caller);
    error AlreadyOpen();
    error AlreadyClosed();
    error NoSuchTable(uint256 table);

    uint256 public constant TABLES = 20;

    bool public isOpen;
    bool public guestsAllowed = true;
    uint256[] public reserved;
    mapping(address => bool) public isKeeper;

    constructor() Ownable(msg.sender) {}

    modifier onlyKeeper() {
        if (!isKeeper[msg.sender]) revert NotKeeper(msg.sender);
        _;
    }

    function setKeeper(address keeper, bool allowed) external onlyOwner {
        isKeeper[keeper] = allowed;
    }

    function open() external onlyKeeper {
        if (isOpen) revert AlreadyOpen();
        isOpen = true;
    }

    function close() external onlyKeeper {
        if (!isOpen) revert AlreadyClosed();
        isOpen = false;
    }

    function setGuestsAllowed(bool allowed) external onlyKeeper {
        guestsAllowed = allowed;
    }

    function reserveTables(uint256[] calldata tables) external onlyKeeper {
        for (uint256 i = 0; i < tables.length; i++) {
            if (tables[i] == 0 || tables[i] > TABLES) revert NoSuchTable(tables[i]);
            reserved.push(tables[i]);
        }
    }
}
