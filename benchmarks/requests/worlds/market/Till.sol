// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title The market's till: ether that its cashier pays out
contract Till is Ownable {
    error NotCashier(address caller);

    event PaidOut(address indexed to, uint256 amount);

    /// @notice Who may pay out.
    address public cashier;

    constructor() Ownable(msg.sender) {}

    /// @notice Puts ether into the till.
    receive() external payable {}

    /// @notice Puts ether into the till.
    function refill() external payable {}

    /// @notice Names the cashier. For the owner.
    function setCashier(address newCashier) external onlyOwner {
        cashier = newCashier;
    }

    /// @notice Pays ether out of the till. For the cashier.
    /// @param to who gets the ether
    /// @param amount the amount of ether
    function payOut(address payable to, uint256 amount) external {
        if (msg.sender != cashier) revert NotCashier(msg.sender);
        Address.sendValue(to, amount);
        emit PaidOut(to, amount);
    }
}
