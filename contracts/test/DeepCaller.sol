// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Calls a target from many frames down the call stack
contract DeepCaller {
    /// @notice How the call of the target ended, for tests that send a transaction.
    event Reached(bool success, bytes output);

    /// @param depth how many times this contract calls itself before it calls the target
    /// @return success whether the target's call succeeded
    /// @return output its return or revert data
    function descend(uint256 depth, address target, bytes calldata data)
        external
        returns (bool success, bytes memory output)
    {
        if (depth > 0) return this.descend(depth - 1, target, data);
        (success, output) = target.call(data);
        emit Reached(success, output);
    }
}
