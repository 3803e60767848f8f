// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title SpenderBox
/// @notice Pulls tokens, with a fee for most.
contract SpenderBox {
    IERC20 public immutable token;
    address public immutable partner;
    uint256 public total;

    /// @param token_ The token that it pulls.
    /// @param partner_ Pays no fee.
    constructor(IERC20 token_, address partner_) {
        token = token_;
        partner = partner_;
    }

    /// @notice Deposit tokens for an account, until a time.
    /// @param amount In base units.
    /// @param least The least that counts.
    /// @param to Whose deposit it is.
    /// @param deadline Unix seconds.
    /// @return counted What counts.
    function deposit(uint256 amount, uint256 least, address to, uint256 deadline) external returns (uint256 counted) {
        require(block.timestamp <= deadline, "too late");
        require(to != address(0), "to nobody");
        require(amount >= 100, "too little");
        counted = msg.sender == partner ? amount : amount * 99 / 100;
        require(counted >= least, "less than least");
        total += counted;
        require(token.transferFrom(msg.sender, address(this), amount), "not transferred");
        require(token.transfer(to, counted), "not transferred");
    }
}
