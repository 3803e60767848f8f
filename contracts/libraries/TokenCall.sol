// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERC20} from "../interfaces/IERC20.sol";

/// @title Calls ERC-20 tokens and insists on success
/// @notice Some tokens return nothing, some return false where they should revert, and a call to an address
///   without code succeeds: only a call that reached a contract and was not refused counts as success. No transfer
///   goes to the token itself.
library TokenCall {
    /// @notice The token refused the call, or there is no token at that address.
    /// @param reason what the token returned or reverted with
    error TokenCallFailed(address token, bytes reason);

    /// @notice What would be sent to the token's own contract, or to address zero, would be lost.
    error ForbiddenRecipient(string parameter, address value);

    function transfer(address token, address to, uint256 value) internal {
        if (to == address(0) || to == token) revert ForbiddenRecipient("to", to);
        _change(token, abi.encodeCall(IERC20.transfer, (to, value)));
    }

    function transferFrom(address token, address from, address to, uint256 value) internal {
        _change(token, abi.encodeCall(IERC20.transferFrom, (from, to, value)));
    }

    function approve(address token, address spender, uint256 value) internal {
        _change(token, abi.encodeCall(IERC20.approve, (spender, value)));
    }

    function balanceOf(address token, address account) internal view returns (uint256) {
        return _read(token, abi.encodeCall(IERC20.balanceOf, (account)));
    }

    function decimals(address token) internal view returns (uint256) {
        return _read(token, abi.encodeCall(IERC20.decimals, ()));
    }

    function _change(address token, bytes memory data) private {
        (bool success, bytes memory output) = token.call(data);
        bool accepted =
            output.length == 0 ? token.code.length != 0 : output.length >= 32 && uint256(bytes32(output)) == 1;
        if (!success || !accepted) revert TokenCallFailed(token, output);
    }

    function _read(address token, bytes memory data) private view returns (uint256) {
        (bool success, bytes memory output) = token.staticcall(data);
        if (!success || output.length < 32) revert TokenCallFailed(token, output);
        return uint256(bytes32(output));
    }
}
