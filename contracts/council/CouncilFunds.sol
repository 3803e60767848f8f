// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {ICouncil} from "./ICouncil.sol";

/// @title The money of a council: it comes in with calls, and goes out by `withdraw` alone
/// @dev Tokens whose balances change by themselves are not supported: then the last to withdraw gets nothing.
abstract contract CouncilFunds is ICouncil, ReentrancyGuard {
    using SafeERC20 for IERC20;

    /// @dev Amounts fit into 128 bits, so that their sums and parts do not overflow.
    uint256 internal constant MAX_AMOUNT = type(uint96).max;

    /// @inheritdoc ICouncil
    mapping(address token => mapping(address account => uint256)) public claimable;

    /// @inheritdoc ICouncil
    function withdraw(address token, address payable to) external virtual nonReentrant returns (uint256 amount) {
        amount = claimable[token][msg.sender];
        if (amount == 0) revert NothingToWithdraw(token, msg.sender);
        if (to == address(0) || to == address(this)) revert WrongRecipient(to);
        claimable[token][msg.sender] = 0;
        emit Withdrawn(token, msg.sender, to, amount);
        _send(token, to, amount);
    }

    function _send(address token, address payable to, uint256 amount) internal {
        if (token == address(0)) Address.sendValue(to, amount);
        else IERC20(token).safeTransfer(to, amount);
    }

    function _credit(address token, address account, uint256 amount) internal virtual {
        if (amount == 0) return;
        claimable[token][account] += amount;
        emit Credited(token, account, amount);
    }

    /// @dev Takes the reward: the call's value, or the allowance of a token.
    function _takeReward(address token) internal returns (uint128 reward) {
        uint256 amount = msg.value;
        if (token != address(0)) {
            _requireValue(0);
            if (token.code.length == 0) revert TokenMissing(token);
            amount = IERC20(token).allowance(msg.sender, address(this));
            if (amount == type(uint256).max) revert AllowanceNotExact(token, amount);
            _pull(token, amount);
        }
        if (amount == 0 || amount > MAX_AMOUNT) revert OutOfRange("reward", amount, 1, MAX_AMOUNT);
        return uint128(amount);
    }

    /// @dev What arrives is counted, not what the token says.
    function _pull(address token, uint256 amount) internal virtual {
        uint256 before = IERC20(token).balanceOf(address(this));
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = IERC20(token).balanceOf(address(this)) - before;
        if (received != amount) revert TokenTakesFee(token, amount, received);
    }

    function _requireValue(uint256 expected) internal view {
        if (msg.value != expected) revert WrongValue(msg.value, expected);
    }
}
