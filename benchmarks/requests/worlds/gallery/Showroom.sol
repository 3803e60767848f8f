// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

contract Showroom is Ownable, Pausable {
    error NotManager();

    address public manager;
    uint256[] public onDisplay;

    constructor() Ownable(msg.sender) {}

    modifier onlyManager() {
        if (msg.sender != manager) revert NotManager();
        _;
    }

    function setManager(address newManager) external onlyOwner {
        manager = newManager;
    }

    function pause() external onlyManager {
        _pause();
    }

    function unpause() external onlyManager {
        _unpause();
    }

    function setDisplay(uint256[] calldata tokenIds) external onlyManager {
        onDisplay = tokenIds;
    }
}
