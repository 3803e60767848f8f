// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Words of a text as terms of an index
/// @notice A word is a maximal run of ASCII letters and digits; all other bytes separate words. Letters become lower case,
///   and a word is cut after 32 bytes. Its term is the first 8 bytes of its keccak256. That two of v words have one
///   term by chance has a probability below v² / 2^65; to find a word with the term of a given one takes some 2^64 hashes.
library Words {
    /// @notice There are more stop words than the table takes.
    error TooManyStopWords(uint256 limit);

    /// @notice Bytes of a word: one EVM word.
    uint256 internal constant MAX_WORD_BYTES = 32;

    /// @notice Stop words of a table: half of its places, so that a look-up is short.
    uint256 internal constant MAX_STOP_WORDS = 128;

    /// @dev Bytes of a table: 256 places of one term each.
    uint256 private constant TABLE_BYTES = 2048;

    /// @dev The bit 0x20 in each byte.
    uint256 private constant LOWER = 0x2020202020202020202020202020202020202020202020202020202020202020;

    /// @dev A bit for each byte that belongs to words: digits and letters.
    uint256 private constant WORD_BYTES = uint256((0x3ff << 0x30) | (0x3ffffff << 0x41) | (0x3ffffff << 0x61));

    /// @notice Returns the term of the next word.
    /// @param position where to begin, in bytes
    /// @return term 0 if no word is left
    /// @return end where the word ends
    function next(bytes memory text, uint256 position) internal pure returns (uint256 term, uint256 end) {
        uint256 members = WORD_BYTES;
        assembly ("memory-safe") {
            let start := add(text, 32)
            let last := add(start, mload(text))
            let cursor := add(start, position)
            for {} lt(cursor, last) { cursor := add(cursor, 1) } {
                if and(1, shr(byte(0, mload(cursor)), members)) { break }
            }
            let first := cursor
            for {} lt(cursor, last) { cursor := add(cursor, 1) } {
                if iszero(and(1, shr(byte(0, mload(cursor)), members))) { break }
            }
            let length := sub(cursor, first)
            if length {
                if gt(length, MAX_WORD_BYTES) { length := MAX_WORD_BYTES }
                // The bit 0x20 makes a letter lower case, and all digits have it.
                mstore(0, or(mload(first), LOWER))
                term := shr(192, keccak256(0, length))
                term := or(term, iszero(term)) // 0 stands for no word
            }
            end := sub(cursor, start)
        }
    }

    /// @notice Returns a table of the words of a text, for `isStopWord`.
    function stopWordTable(string memory words) internal pure returns (bytes memory table) {
        table = new bytes(TABLE_BYTES + 32); // so that the last place can be read as a whole EVM word
        uint256 count;
        for ((uint256 term, uint256 end) = next(bytes(words), 0); term != 0; (term, end) = next(bytes(words), end)) {
            uint256 place = term & 255;
            uint256 there;
            while ((there = _entry(table, place)) != 0 && there != term) place = (place + 1) & 255;
            if (there == term) continue;
            if (++count > MAX_STOP_WORDS) revert TooManyStopWords(MAX_STOP_WORDS);
            for (uint256 i = 0; i < 8; i++) table[place * 8 + i] = bytes1(uint8(term >> (56 - 8 * i)));
        }
    }

    /// @notice Tells whether a term is in a table.
    function isStopWord(bytes memory table, uint256 term) internal pure returns (bool) {
        uint256 place = term & 255;
        uint256 there = _entry(table, place);
        while (there != 0 && there != term) {
            place = (place + 1) & 255;
            there = _entry(table, place);
        }
        return there == term;
    }

    function _entry(bytes memory table, uint256 place) private pure returns (uint256 term) {
        assembly ("memory-safe") {
            term := shr(192, mload(add(add(table, 32), shl(3, place))))
        }
    }
}
