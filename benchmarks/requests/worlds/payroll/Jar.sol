// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract Jar {
    using SafeERC20 for IERC20;

    error NotEnough(uint256 amount, uint256 held);

    IERC20 public immutable token;
    mapping(address => uint256) public balances;

    constructor(IERC20 token_) {
        token = token_;
    }

    function deposit(uint256 amount) external {
        depositFor(msg.sender, amount);
    }

    function depositFor(address account, uint256 amount) public {
        balances[account] += amount;
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    function withdraw(uint256 amount) external {
        uint256 held = balances[msg.sender];
        if (amount > held) revert NotEnough(amount, held);
        balances[msg.sender] = held - amount;
        token.safeTransfer(msg.sender, amount);
    }
}
