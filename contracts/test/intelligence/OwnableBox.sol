// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// @title OwnableBox
/// @notice A value that its owner sets, with checks before and after the owner's.
contract OwnableBox is Ownable2Step, Pausable {
    /// @notice The value is too large.
    error TooLarge(uint256 value);

    uint256 public value;
    mapping(address account => uint256 amount) public deposits;
    mapping(uint256 item => address holder) public holders;

    /// @param owner_ Who owns it.
    constructor(address owner_) Ownable(owner_) {}

    /// @notice Set the value.
    /// @param value_ At most 1,000.
    function setValue(uint256 value_) external onlyOwner {
        value = value_;
    }

    /// @notice Set the value; the bound is checked before the owner is.
    /// @param value_ At most 1,000, at least 500.
    function setBoundedValue(uint256 value_) external {
        if (value_ > 1000 || value_ < 500) revert TooLarge(value_);
        _checkOwner();
        value = value_;
    }

    /// @notice Pause.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Unpause; the pause is checked before the owner is.
    function unpause() external whenPaused {
        _checkOwner();
        _unpause();
    }

    /// @notice Deposit ether.
    function deposit() external payable whenNotPaused {
        require(msg.value > 0, "no ether");
        deposits[msg.sender] += msg.value;
    }

    /// @notice Withdraw ether.
    /// @param amount In wei.
    function withdraw(uint256 amount) external {
        deposits[msg.sender] -= amount;
        Address.sendValue(payable(msg.sender), amount);
    }

    /// @notice Withdraw all ether.
    function withdrawAll() external {
        uint256 amount = deposits[msg.sender];
        require(amount > 0, "nothing deposited");
        deposits[msg.sender] = 0;
        Address.sendValue(payable(msg.sender), amount);
    }

    /// @notice Take an item that nobody has.
    /// @param item Its number.
    function take(uint256 item) external {
        require(holders[item] == address(0), "taken");
        holders[item] = msg.sender;
    }

    /// @notice Give an item away.
    /// @param item Its number.
    /// @param to Who gets it.
    function give(uint256 item, address to) external {
        require(holders[item] == msg.sender, "not yours");
        holders[item] = to;
    }
}
