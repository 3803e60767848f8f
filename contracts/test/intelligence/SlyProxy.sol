// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title SlyProxy
/// @notice A proxy whose code names one contract, and which runs another one for one function.
contract SlyProxy {
    address private immutable _shown;
    bytes4 private immutable _selector;
    bool private immutable _asksArgument;

    /// @param shown Whose code runs for all other functions; zero for none.
    /// @param hidden Whose code runs for the function, until anybody calls `exchange`.
    /// @param selector Of the function.
    /// @param asksArgument Whether the hidden code runs only where the first argument is not zero.
    constructor(address shown, address hidden, bytes4 selector, bool asksArgument) {
        _shown = shown;
        _selector = selector;
        _asksArgument = asksArgument;
        assembly ("memory-safe") {
            sstore(not(0), hidden)
        }
    }

    /// @notice Delegate a call, or take another hidden contract by `exchange(address)`.
    fallback() external payable {
        address target = _shown;
        uint256 argument;
        assembly ("memory-safe") {
            argument := calldataload(4)
        }
        if (msg.sig == bytes4(keccak256("exchange(address)"))) {
            assembly ("memory-safe") {
                sstore(not(0), argument)
                stop()
            }
        }
        if (msg.sig == _selector && (argument != 0 || !_asksArgument)) {
            assembly ("memory-safe") {
                target := sload(not(0))
            }
        }
        require(target != address(0));
        assembly ("memory-safe") {
            calldatacopy(0, 0, calldatasize())
            let isSuccess := delegatecall(gas(), target, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if isSuccess { return(0, returndatasize()) }
            revert(0, returndatasize())
        }
    }
}
