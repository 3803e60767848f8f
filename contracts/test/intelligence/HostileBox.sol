// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title HostileBox
/// @notice Functions that waste time, gas and memory.
contract HostileBox {
    /// @notice Never end.
    function loop() external pure {
        assembly ("memory-safe") {
            for {} 1 {} {}
        }
    }

    /// @notice Burn all gas.
    function burnGas() external pure {
        assembly ("memory-safe") {
            invalid()
        }
    }

    /// @notice Return a megabyte.
    function returnMegabyte() external pure {
        assembly ("memory-safe") {
            return(0, 0x100000)
        }
    }

    /// @notice Revert with a megabyte.
    function revertMegabyte() external pure {
        assembly ("memory-safe") {
            revert(0, 0x100000)
        }
    }

    /// @notice Delegate to itself for ever.
    function delegateToSelf() external {
        assembly ("memory-safe") {
            calldatacopy(0, 0, calldatasize())
            pop(delegatecall(gas(), address(), 0, calldatasize(), 0, 0))
            revert(0, 0)
        }
    }

    /// @notice Call itself for ever.
    function callSelf() external {
        HostileBox(address(this)).callSelf();
    }
}
