// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Turns a text into integers for a numeric model
/// @notice A word is a maximal run of ASCII letters, digits and `'`, `$`, `%`, `#`; all other bytes separate words. Letters
///   become lower case, and a word is cut after 32 bytes. The first words become `keccak256(word) % buckets + 1`, and
///   zeros follow them.
/// @dev The twin in Python is `pyevm_agents.models.numeric.text_features`. At most `MAX_TEXT_BYTES` are read, so the gas
///   is bounded: at most 140 gas a byte and 300 a word.
library TextFeatures {
    /// @notice The text has more bytes than are read.
    error TextTooLong(uint256 size, uint256 limit);

    /// @notice Bytes of a text. A post has a few hundred; the bound keeps the gas under that of one model token's prompt.
    uint256 internal constant MAX_TEXT_BYTES = 4096;

    /// @notice Bytes of a word: one EVM word.
    uint256 internal constant MAX_WORD_BYTES = 32;

    /// @dev A bit for each byte that belongs to words: `#`, `$`, `%`, `'`, digits, letters.
    uint256 private constant WORD_BYTES = uint256(
        (1 << 0x23) | (1 << 0x24) | (1 << 0x25) | (1 << 0x27) | (0x3ff << 0x30) | (0x3ffffff << 0x41)
            | (0x3ffffff << 0x61)
    );

    /// @notice Returns one number for each of the first words.
    /// @param words how many numbers; zeros stand for words that the text doesn't have
    /// @param buckets the largest number; at least 1
    function features(string memory text, uint256 words, uint256 buckets) internal pure returns (int256[] memory found) {
        uint256 size = bytes(text).length;
        if (size > MAX_TEXT_BYTES) revert TextTooLong(size, MAX_TEXT_BYTES);
        found = new int256[](words);
        uint256 position;
        for (uint256 i = 0; i < words; i++) {
            uint256 length;
            uint256 word;
            (word, length, position) = _nextWord(text, position);
            if (length == 0) break;
            uint256 hash;
            assembly ("memory-safe") {
                mstore(0, word)
                hash := keccak256(0, length)
            }
            found[i] = int256(hash % buckets) + 1;
        }
    }

    /// @dev Returns a word's bytes, left-aligned, its length after the cut, and where to go on. Length 0: no word is left.
    function _nextWord(string memory text, uint256 position)
        private
        pure
        returns (uint256 word, uint256 length, uint256 end)
    {
        uint256 members = WORD_BYTES;
        assembly ("memory-safe") {
            let size := mload(text)
            let start := add(text, 32)
            end := position
            for {} lt(end, size) { end := add(end, 1) } {
                if and(1, shr(byte(0, mload(add(start, end))), members)) { break }
            }
            for {} lt(end, size) { end := add(end, 1) } {
                let char := byte(0, mload(add(start, end)))
                if iszero(and(1, shr(char, members))) { break }
                if lt(length, 32) {
                    if and(gt(char, 0x40), lt(char, 0x5b)) { char := or(char, 0x20) }
                    word := or(word, shl(sub(248, shl(3, length)), char))
                    length := add(length, 1)
                }
            }
        }
    }
}
