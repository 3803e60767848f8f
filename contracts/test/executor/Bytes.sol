// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Decimal} from "../../libraries/Decimal.sol";

/// @title Reads and cuts bytes and ASCII text
library Bytes {
    /// @notice Returns the bytes from `start` up to, without, `end`.
    function slice(bytes memory data, uint256 start, uint256 end) internal pure returns (bytes memory part) {
        part = new bytes(end - start);
        assembly ("memory-safe") {
            let source := add(add(data, 32), start)
            let size := sub(end, start)
            // Whole words, then the rest of the last one, so that nothing behind it is touched.
            let whole := and(size, not(31))
            for { let i := 0 } lt(i, whole) { i := add(i, 32) } {
                mstore(add(add(part, 32), i), mload(add(source, i)))
            }
            if gt(size, whole) {
                let mask := not(sub(shl(shl(3, sub(32, sub(size, whole))), 1), 1))
                mstore(add(add(part, 32), whole), and(mload(add(source, whole)), mask))
            }
        }
    }

    /// @notice Returns the 32 bytes at a position.
    function word(bytes memory data, uint256 position) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(add(add(data, 32), position))
        }
    }

    function equal(bytes memory a, bytes memory b) internal pure returns (bool) {
        return a.length == b.length && keccak256(a) == keccak256(b);
    }

    /// @notice Returns the position of the next `0x`, the text's length where there is none.
    function nextPrefix(bytes memory text, uint256 position) internal pure returns (uint256) {
        uint256 size = text.length;
        assembly ("memory-safe") {
            let start := add(text, 32)
            for {} lt(position, size) { position := add(position, 1) } {
                if eq(shr(240, mload(add(start, position))), 0x3078) { break }
            }
        }
        return position;
    }

    /// @notice Tells whether `0x` or `0X` stands anywhere in a text.
    function hasPrefix(bytes memory text) internal pure returns (bool) {
        for (uint256 i = 1; i < text.length; i++) {
            if (text[i - 1] == "0" && (text[i] == "x" || text[i] == "X")) return true;
        }
        return false;
    }

    function isAlphanumeric(bytes1 character) internal pure returns (bool) {
        uint8 code = uint8(character);
        return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
    }

    /// @notice Tells whether a text without zero bytes is `true`, `false` or `null`.
    function isJsonWord(bytes memory text) internal pure returns (bool) {
        bytes32 padded = bytes32(text);
        return padded == "true" || padded == "false" || padded == "null";
    }

    function decimal(uint256 value) internal pure returns (string memory) {
        return Decimal.toString(value);
    }

    /// @notice Writes a signed integer.
    function decimal(int256 value) internal pure returns (string memory) {
        if (value >= 0) return Decimal.toString(uint256(value));
        return string.concat("-", Decimal.toString(uint256(-(value + 1)) + 1));
    }
}
