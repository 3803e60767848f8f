// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Calls a target with any calldata by any kind of call
contract Caller {
    enum Kind {
        CALL,
        STATICCALL,
        DELEGATECALL,
        CALLCODE
    }

    /// @notice How the call ended, for tests that send a transaction.
    event Forwarded(bool success, bytes output);

    receive() external payable {}

    /// @param gasLimit the gas of the call; 0: all that the EVM allows
    /// @param value in wei, for CALL and CALLCODE; the contract must hold it or be sent it
    /// @return success whether the call succeeded
    /// @return output its return or revert data
    function forward(Kind kind, address target, uint256 gasLimit, uint256 value, bytes memory data)
        external
        payable
        returns (bool success, bytes memory output)
    {
        (success, output) = _forward(kind, target, gasLimit == 0 ? gasleft() : gasLimit, value, data);
        emit Forwarded(success, output);
    }

    function _forward(Kind kind, address target, uint256 gasLimit, uint256 value, bytes memory data)
        private
        returns (bool success, bytes memory output)
    {
        assembly ("memory-safe") {
            let start := add(data, 32)
            let size := mload(data)
            switch kind
            case 0 { success := call(gasLimit, target, value, start, size, 0, 0) }
            case 1 { success := staticcall(gasLimit, target, start, size, 0, 0) }
            case 2 { success := delegatecall(gasLimit, target, start, size, 0, 0) }
            default { success := callcode(gasLimit, target, value, start, size, 0, 0) }

            output := mload(64)
            mstore(output, returndatasize())
            returndatacopy(add(output, 32), 0, returndatasize())
            mstore(64, and(add(add(output, returndatasize()), 63), not(31)))
        }
    }
}
