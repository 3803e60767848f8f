// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title UTF-8 of texts
/// @notice The executor refuses a tool's result that is not UTF-8, and with it the run.
library Utf8 {
    /// @dev A bit in each byte that is set where the byte is not ASCII.
    uint256 private constant HIGH_BITS = 0x8080808080808080808080808080808080808080808080808080808080808080;

    /// @notice Tells whether a text is UTF-8 as RFC 3629 has it: shortest forms, no surrogates, at most U+10FFFF.
    function isValid(bytes memory text) internal pure returns (bool) {
        uint256 position;
        unchecked {
            while (position < text.length) {
                uint256 ahead = _word(text, position);
                if (ahead & HIGH_BITS == 0) {
                    position += 32; // what is beyond the text is not in the word
                    continue;
                }
                uint256 length = _lengthOf(ahead);
                if (length == 0 || position + length > text.length) return false;
                position += length;
            }
        }
        return true;
    }

    /// @notice Returns the largest size up to a limit at which a valid text can be cut.
    function cut(bytes memory text, uint256 limit) internal pure returns (uint256 size) {
        if (text.length <= limit) return text.length;
        size = limit;
        while (size > 0 && uint8(text[size]) & 0xc0 == 0x80) size--;
    }

    /// @dev Returns the bytes of the character that a word begins with; 0 if it is malformed.
    function _lengthOf(uint256 ahead) private pure returns (uint256) {
        uint256 first = ahead >> 248;
        if (first < 0x80) return 1;
        uint256 second = (ahead >> 240) & 0xff;
        if (first < 0xc2 || first > 0xf4 || second & 0xc0 != 0x80) return 0;
        if (first < 0xe0) return 2;
        if ((ahead >> 232) & 0xc0 != 0x80) return 0;
        if (first < 0xf0) return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ? 0 : 3;
        if ((ahead >> 224) & 0xc0 != 0x80) return 0;
        return (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f) ? 0 : 4;
    }

    /// @dev Returns 32 bytes of a text, zeros beyond its end.
    function _word(bytes memory text, uint256 position) private pure returns (uint256 word) {
        uint256 left = text.length - position;
        assembly ("memory-safe") {
            word := mload(add(add(text, 32), position))
        }
        if (left < 32) word = (word >> (256 - 8 * left)) << (256 - 8 * left);
    }
}
