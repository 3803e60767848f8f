// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "../../interfaces/IERC20.sol";

/// @title An agent and a target of runs, for tests
/// @notice As an agent it makes many calls in one transaction. As a target it does what targets may do to a treasury.
contract RunPeer {
    error Broken(uint256 amount);

    address private entry;
    bytes private reentry;
    uint256 public calls;

    /// @notice Takes wei, and re-enters if it was prepared to.
    receive() external payable {
        _reenter();
    }

    /// @notice Makes calls, one after the other, in one transaction.
    function send(address to, bytes[] calldata data) external {
        for (uint256 i = 0; i < data.length; i++) _call(to, data[i]);
    }

    /// @notice Sets the call that the next functions make back.
    function prepare(address to, bytes calldata data) external {
        (entry, reentry) = (to, data);
    }

    /// @notice Takes wei, and re-enters if it was prepared to.
    function take(uint256 number) external payable returns (uint256) {
        calls++;
        _reenter();
        return number;
    }

    /// @notice Takes tokens of the caller's by its approval.
    function pull(IERC20 token, uint256 amount) external {
        token.transferFrom(msg.sender, address(this), amount);
    }

    /// @notice Takes wei and returns them all.
    function giveBack() external payable {
        (bool success,) = msg.sender.call{value: msg.value}("");
        require(success);
    }

    /// @notice Fails.
    function fail(uint256 amount) external payable {
        revert Broken(amount);
    }

    function _reenter() private {
        if (entry != address(0)) _call(entry, reentry);
    }

    function _call(address to, bytes memory data) private {
        (bool success, bytes memory output) = to.call(data);
        if (success) return;
        assembly ("memory-safe") {
            revert(add(output, 32), mload(output))
        }
    }
}
