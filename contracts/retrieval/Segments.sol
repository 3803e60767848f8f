// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Sorting} from "./Sorting.sol";

/// @title Segments of an inverted index, each of which is kept as the code of an address
/// @notice To read a whole segment costs some 5,000 gas; the same bytes in storage slots would cost 1,600,000. A segment is
///
///   | bytes | content |
///   |---|---|
///   | 1, 2 | number of passages, number of terms |
///   | 6 for each passage | its id (4), its number of words (2) |
///   | 10 for each term, ascending | the term (8), the number of postings up to its last one (2) |
///   | 2 for each posting, by term and passage | the passage's place in the segment (1), its count of the word (1) |
///
/// An entry, of which a segment is built, is `term << 24 | place << 16 | count`.
library Segments {
    /// @notice A segment of these passages would be longer than code can be: add fewer at once.
    error SegmentTooLarge(uint256 size, uint256 limit);

    /// @notice Passages of a segment; each has a place of one byte and a bit of a word.
    uint256 internal constant MAX_PASSAGES = 255;

    /// @notice Bytes of a segment: EIP-170's limit, less the STOP before the data.
    uint256 internal constant MAX_BYTES = 24_575;

    /// @notice A word counts at most so often in one passage.
    uint256 internal constant MAX_COUNT = 255;

    /// @dev Bits of an entry.
    uint256 private constant ENTRY_BITS = 88;

    /// @dev Bytes of the header, of a passage, of a term and of a posting.
    uint256 private constant HEADER = 3;
    uint256 private constant PASSAGE = 6;
    uint256 private constant TERM = 10;
    uint256 private constant POSTING = 2;

    /// @notice Builds a segment.
    /// @param ids of the passages, by place
    /// @param lengths of the passages in words, by place
    /// @param entries in any order; they are changed
    function build(uint256[] memory ids, uint256[] memory lengths, uint256[] memory entries)
        internal
        pure
        returns (bytes memory segment)
    {
        Sorting.sort(entries, ENTRY_BITS);
        (uint256 terms, uint256 postings) = _sum(entries);
        uint256 size = HEADER + PASSAGE * ids.length + TERM * terms + POSTING * postings;
        if (size > MAX_BYTES) revert SegmentTooLarge(size, MAX_BYTES);
        segment = new bytes(size + 32); // a number is written with zeros after it
        uint256 cursor = _put(_data(segment), ids.length, 1);
        cursor = _put(cursor, terms, 2);
        for (uint256 i = 0; i < ids.length; i++) cursor = _put(cursor, (ids[i] << 16) | lengths[i], PASSAGE);
        _putTerms(cursor, entries, postings);
        _putPostings(cursor + TERM * terms, entries, postings);
        assembly ("memory-safe") {
            mstore(segment, size)
        }
    }

    /// @notice Returns a place in memory that any segment can be copied to.
    function newBuffer() internal pure returns (uint256) {
        return _data(new bytes(MAX_BYTES + 32));
    }

    /// @notice Copies a segment.
    /// @param where its address
    /// @param buffer what `newBuffer` returned
    function load(address where, uint256 buffer) internal view {
        assembly ("memory-safe") {
            extcodecopy(where, buffer, 1, sub(extcodesize(where), 1))
        }
    }

    /// @notice Returns the postings of a term.
    /// @return start number of the first one in the segment
    /// @return count 0 if the segment doesn't have the term
    function find(uint256 buffer, uint256 term) internal pure returns (uint256 start, uint256 count) {
        assembly ("memory-safe") {
            let head := mload(buffer)
            let terms := and(shr(232, head), 0xffff)
            let dictionary := add(add(buffer, HEADER), mul(PASSAGE, byte(0, head)))
            // The last term that is not greater, or the first one, is among `left` terms from `low` on.
            let low := dictionary
            for { let left := terms } gt(left, 1) {} {
                let half := shr(1, left)
                let middle := add(low, mul(TERM, half))
                if iszero(gt(shr(192, mload(middle)), term)) { low := middle }
                left := sub(left, half)
            }
            let found := mload(low)
            if and(eq(shr(192, found), term), gt(terms, 0)) {
                if gt(low, dictionary) { start := and(shr(176, mload(sub(low, TERM))), 0xffff) }
                count := sub(and(shr(176, found), 0xffff), start)
            }
        }
    }

    /// @notice Returns the pointer to the first passage, and that to the first posting.
    function pointers(uint256 buffer) internal pure returns (uint256 passages, uint256 postings) {
        assembly ("memory-safe") {
            let head := mload(buffer)
            passages := add(buffer, HEADER)
            postings := add(add(passages, mul(PASSAGE, byte(0, head))), mul(TERM, and(shr(232, head), 0xffff)))
        }
    }

    /// @notice Counts postings of passages that are not removed.
    /// @param removed a bit for each place
    function countOf(uint256 buffer, uint256 start, uint256 count, uint256 removed) internal pure returns (uint256 kept) {
        if (removed == 0) return count;
        (, uint256 postings) = pointers(buffer);
        assembly ("memory-safe") {
            let at := add(postings, mul(POSTING, start))
            for { let end := add(at, mul(POSTING, count)) } lt(at, end) { at := add(at, POSTING) } {
                kept := add(kept, and(1, not(shr(byte(0, mload(at)), removed))))
            }
        }
    }

    /// @notice The kept passages of segments, from which one segment is built.
    struct Draft {
        uint256[] ids;
        uint256[] lengths;
        uint256[] entries;
        uint256 passageCount;
        uint256 entryCount;
    }

    /// @notice Adds the passages of a segment that are not removed to a draft, which has room for them.
    function extract(uint256 buffer, uint256 removed, Draft memory draft) internal pure {
        (uint256 passages, uint256 postings) = pointers(buffer);
        uint256 count = _get(buffer, 1);
        uint256[] memory places = new uint256[](count);
        for (uint256 place = 0; place < count; place++) {
            if ((removed >> place) & 1 == 1) continue;
            uint256 passage = _get(passages + PASSAGE * place, PASSAGE);
            draft.ids[draft.passageCount] = passage >> 16;
            draft.lengths[draft.passageCount] = passage & 0xffff;
            places[place] = draft.passageCount++;
        }
        uint256 terms = _get(buffer + 1, 2);
        uint256 posting;
        for (uint256 i = 0; i < terms; i++) {
            uint256 term = _get(passages + PASSAGE * count + TERM * i, TERM);
            for (; posting < term & 0xffff; posting++) {
                uint256 place = _get(postings + POSTING * posting, 1);
                if ((removed >> place) & 1 == 1) continue;
                uint256 occurrences = _get(postings + POSTING * posting + 1, 1);
                draft.entries[draft.entryCount++] = ((term >> 16) << 24) | (places[place] << 16) | occurrences;
            }
        }
    }

    /// @notice Returns how many passages and postings a segment has.
    function sizes(uint256 buffer) internal pure returns (uint256 passages, uint256 postings) {
        passages = _get(buffer, 1);
        uint256 terms = _get(buffer + 1, 2);
        if (terms != 0) postings = _get(buffer + HEADER + PASSAGE * passages + TERM * terms - 2, 2);
    }

    /// @dev Makes one entry of all with the same term and place; returns the number of terms and that of entries.
    function _sum(uint256[] memory entries) private pure returns (uint256 terms, uint256 kept) {
        assembly ("memory-safe") {
            let entry := add(entries, 32)
            let end := add(entry, shl(5, mload(entries)))
            for { let write := entry } lt(entry, end) { write := add(write, 32) } {
                let value := mload(entry)
                let key := shr(16, value)
                for { entry := add(entry, 32) } lt(entry, end) { entry := add(entry, 32) } {
                    let next := mload(entry)
                    if iszero(eq(shr(16, next), key)) {
                        if iszero(eq(shr(24, next), shr(8, key))) { terms := add(terms, 1) }
                        break
                    }
                    value := add(value, and(next, 0xffff))
                }
                mstore(write, value)
                kept := add(kept, 1)
            }
            if kept { terms := add(terms, 1) } // the last one
        }
    }

    function _putTerms(uint256 cursor, uint256[] memory entries, uint256 postings) private pure {
        assembly ("memory-safe") {
            let first := add(entries, 32)
            let end := add(first, shl(5, postings))
            for { let entry := first } lt(entry, end) {} {
                let term := shr(24, mload(entry))
                for { entry := add(entry, 32) } lt(entry, end) { entry := add(entry, 32) } {
                    if iszero(eq(shr(24, mload(entry)), term)) { break }
                }
                mstore(cursor, shl(176, or(shl(16, term), shr(5, sub(entry, first)))))
                cursor := add(cursor, TERM)
            }
        }
    }

    function _putPostings(uint256 cursor, uint256[] memory entries, uint256 postings) private pure {
        assembly ("memory-safe") {
            let entry := add(entries, 32)
            for { let end := add(entry, shl(5, postings)) } lt(entry, end) { entry := add(entry, 32) } {
                let value := mload(entry)
                let count := and(value, 0xffff)
                if gt(count, MAX_COUNT) { count := MAX_COUNT }
                mstore(cursor, shl(240, or(and(shr(8, value), 0xff00), count)))
                cursor := add(cursor, POSTING)
            }
        }
    }

    /// @dev Writes a number of some bytes, and zeros after it; returns where to go on.
    function _put(uint256 cursor, uint256 value, uint256 size) private pure returns (uint256 end) {
        assembly ("memory-safe") {
            mstore(cursor, shl(sub(256, shl(3, size)), value))
            end := add(cursor, size)
        }
    }

    function _get(uint256 cursor, uint256 size) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(sub(256, shl(3, size)), mload(cursor))
        }
    }

    function _data(bytes memory data) private pure returns (uint256 pointer) {
        assembly ("memory-safe") {
            pointer := add(data, 32)
        }
    }
}
