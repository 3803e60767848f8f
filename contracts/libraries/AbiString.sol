// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Tells whether ABI-encoded data hold a string
/// @notice `abi.decode` reverts without any reason where the data are malformed. Contracts that decode what
///   others return ask here first, and give their callers a typed error.
library AbiString {
    /// @param data an ABI-encoded tuple
    /// @param index position in the tuple, whose members before it are one word each
    /// @return true if `abi.decode` finds a string at that position
    function isAt(bytes memory data, uint256 index) internal pure returns (bool) {
        uint256 size = data.length;
        uint256 head = index * 32;
        if (size < head + 64) return false; // the offset and the length
        uint256 offset = _word(data, head);
        if (offset > size - 32) return false;
        return _word(data, offset) <= size - 32 - offset;
    }

    function _word(bytes memory data, uint256 position) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(add(data, 32), position))
        }
    }
}
