// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Calls with a stated amount of gas, or not at all
/// @notice A plain call with a gas limit silently passes less where less is left (EIP-150). This one reverts then.
library ExactGasCall {
    /// @notice Too little gas is left to pass on what was promised. Send the transaction with more.
    error InsufficientGas(uint256 gasLeft, uint256 gasNeeded);

    /// @notice The most bytes of return data that are read: a selector and four words.
    uint256 internal constant MAX_RETURNED_BYTES = 132;

    /// @dev Gas between the check and the callee: the check, the call to a cold account, the copy of calldata.
    uint256 private constant BEFORE_CALL = 5_000;

    /// @notice Calls `target` with exactly `gasLimit` gas.
    /// @param gasAfter gas that the caller keeps for itself
    /// @return success false as well where there is no code
    /// @return returned the first 132 bytes of the return data
    function call(address target, uint256 gasLimit, uint256 gasAfter, bytes memory data)
        internal
        returns (bool success, bytes memory returned)
    {
        uint256 gasLeft = gasleft();
        uint256 needed = gasLimit + gasLimit / 63 + BEFORE_CALL + gasAfter;
        if (gasLeft < needed) revert InsufficientGas(gasLeft, needed);
        if (target.code.length == 0) return (false, "");

        returned = new bytes(MAX_RETURNED_BYTES);
        assembly ("memory-safe") {
            success := call(gasLimit, target, 0, add(data, 32), mload(data), 0, 0)
            let size := returndatasize()
            if gt(size, MAX_RETURNED_BYTES) { size := MAX_RETURNED_BYTES }
            mstore(returned, size)
            returndatacopy(add(returned, 32), 0, size)
        }
    }

    /// @notice Returns the most gas that `call` can pass on now, if `gasAfter` is kept.
    function most(uint256 gasAfter) internal view returns (uint256) {
        uint256 kept = gasAfter + 2 * BEFORE_CALL;
        uint256 gasLeft = gasleft();
        return gasLeft <= kept ? 0 : (gasLeft - kept) / 64 * 63;
    }
}
