// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ExactGasCall} from "../callback/ExactGasCall.sol";
import {ICouncil} from "./ICouncil.sol";

/// @title The money of a council: it comes in with calls, and goes out from what was credited
/// @dev Tokens whose balances change by themselves are not supported: then the last to withdraw gets nothing.
abstract contract CouncilFunds {
    using SafeERC20 for IERC20;

    /// @dev Amounts fit into 128 bits, so that their sums and parts do not overflow.
    uint256 internal constant MAX_AMOUNT = type(uint96).max;

    // Gas of a payment that nobody asked for: a recipient can't stop the others.
    uint256 private constant WEI_GAS = 30_000;
    uint256 private constant TOKEN_GAS = 100_000;
    uint256 private constant GAS_AFTER_PAYMENT = 10_000;

    mapping(address token => mapping(address account => uint256)) internal _claimable;

    /// @dev Sends all that was credited to an account, with all gas that is left.
    function _payOut(address token, address account, address payable to) internal returns (uint256 amount) {
        amount = _claimable[token][account];
        if (amount == 0) revert ICouncil.NothingToWithdraw(token, account);
        if (to == address(0) || to == address(this)) revert ICouncil.WrongRecipient(to);
        _claimable[token][account] = 0;
        emit ICouncil.Withdrawn(token, account, to, amount);
        _send(token, to, amount);
    }

    /// @dev Sends an account what was credited to it, with bounded gas. What it refuses stays credited.
    function _trySend(address token, address account) internal {
        uint256 amount = _claimable[token][account];
        if (amount == 0) return;
        _claimable[token][account] = 0;
        bool isSent = token == address(0)
            ? _tryCall(account, amount, WEI_GAS, "")
            : _tryCall(token, 0, TOKEN_GAS, abi.encodeCall(IERC20.transfer, (account, amount)));
        if (isSent) emit ICouncil.Withdrawn(token, account, account, amount);
        else _claimable[token][account] = amount;
    }

    function _send(address token, address payable to, uint256 amount) internal {
        if (token == address(0)) Address.sendValue(to, amount);
        else IERC20(token).safeTransfer(to, amount);
    }

    function _credit(address token, address account, uint256 amount) internal virtual {
        if (amount == 0) return;
        _claimable[token][account] += amount;
        emit ICouncil.Credited(token, account, amount);
    }

    /// @dev Takes the reward: the call's value, or the allowance of a token.
    function _takeReward(address token) internal returns (uint128 reward) {
        uint256 amount = msg.value;
        if (token != address(0)) {
            _requireValue(0);
            if (token.code.length == 0) revert ICouncil.TokenMissing(token);
            amount = IERC20(token).allowance(msg.sender, address(this));
            if (amount == type(uint256).max) revert ICouncil.AllowanceNotExact(token, amount);
            _pull(token, amount);
        }
        if (amount == 0 || amount > MAX_AMOUNT) revert ICouncil.OutOfRange("reward", amount, 1, MAX_AMOUNT);
        return uint128(amount);
    }

    /// @dev What arrives is counted, not what the token says.
    function _pull(address token, uint256 amount) internal virtual {
        uint256 before = IERC20(token).balanceOf(address(this));
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = IERC20(token).balanceOf(address(this)) - before;
        if (received != amount) revert ICouncil.TokenTakesFee(token, amount, received);
    }

    function _requireValue(uint256 expected) internal view {
        if (msg.value != expected) revert ICouncil.WrongValue(msg.value, expected);
    }

    /// @dev Calls with exactly this gas, or reverts: whoever sends the transaction can't starve a recipient. Of what comes
    ///   back one word is read, so its size costs nothing; nothing, or one, is success.
    function _tryCall(address to, uint256 amount, uint256 gasLimit, bytes memory data) private returns (bool success) {
        uint256 needed = gasLimit + gasLimit / 63 + 2 * GAS_AFTER_PAYMENT;
        if (gasleft() < needed) revert ExactGasCall.InsufficientGas(gasleft(), needed);
        assembly ("memory-safe") {
            success := call(gasLimit, to, amount, add(data, 32), mload(data), 0, 32)
            if mload(data) { success := and(success, or(iszero(returndatasize()), eq(mload(0), 1))) }
        }
    }
}
