// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Pays employees back what they spent, in the native currency
contract Expenses is Ownable {
    error NotManager(address caller);
    error AboveLimit(uint256 amount, uint256 limit);

    event Reimbursed(address indexed employee, uint256 amount);

    address public manager;

    /// @notice The most that one payment may be.
    uint256 public limit;

    constructor(uint256 limit_) payable Ownable(msg.sender) {
        limit = limit_;
    }

    receive() external payable {}

    /// @notice Adds money in the native currency.
    function refill() external payable {}

    function setManager(address newManager) external onlyOwner {
        manager = newManager;
    }

    /// @notice Reimburses an employee in the native currency.
    /// @param employee who is paid
    /// @param amount the amount of the native currency
    function reimburse(address payable employee, uint256 amount) external {
        if (msg.sender != manager) revert NotManager(msg.sender);
        if (amount > limit) revert AboveLimit(amount, limit);
        Address.sendValue(employee, amount);
        emit Reimbursed(employee, amount);
    }
}
