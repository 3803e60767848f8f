// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {IERC20} from "../interfaces/IERC20.sol";
import {FlashBorrower} from "./FlashBorrower.sol";

/// @title Lends any amount within one transaction, without a fee
/// @notice It stands for everything that an attacker can have for as long as a transaction lasts.
contract FlashLender {
    /// @notice Less came back than was lent.
    error NotRepaid(address token, uint256 missing);

    receive() external payable {}

    /// @notice Lends to the caller, lets it make its calls, and demands the amount back.
    /// @param token zero for wei
    function lend(address token, uint256 amount, FlashBorrower.Call[] calldata calls) external returns (uint256 made) {
        uint256 held = _held(token);
        if (token == address(0)) Address.sendValue(payable(msg.sender), amount);
        else IERC20(token).transfer(msg.sender, amount);
        made = FlashBorrower(payable(msg.sender)).spend(token, amount, calls);
        if (_held(token) < held) revert NotRepaid(token, held - _held(token));
    }

    function _held(address token) private view returns (uint256) {
        return token == address(0) ? address(this).balance : IERC20(token).balanceOf(address(this));
    }
}
