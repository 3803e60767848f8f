// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ICouncil} from "./ICouncil.sol";

/// @title The options of a discrete query
/// @notice `specifications` that begin with `OPTIONS: yes|no|unknown` make a query discrete. The line ends with a line
///   break or the text; what follows is free. Options are 2 to 16, of 1 to 64 bytes, all different; case and blanks count.
library CouncilOptions {
    uint256 internal constant MAX_OPTIONS = 16;
    uint256 internal constant MAX_OPTION_BYTES = 64; // the ERC's recommended limit of an item
    bytes9 private constant PREFIX = "OPTIONS: ";

    /// @notice Returns the number of options; zero for an open query.
    function count(bytes memory specifications) internal pure returns (uint256 options) {
        uint256 start = 9;
        if (specifications.length < start || bytes9(specifications) != PREFIX) return 0;
        bytes32[] memory seen = new bytes32[](MAX_OPTIONS);
        for (bool last; !last;) {
            uint256 end;
            (end, last) = _endOf(specifications, start);
            if (end == start || end - start > MAX_OPTION_BYTES || options == MAX_OPTIONS) _refuse(options);
            bytes32 hash = _hash(specifications, start, end);
            for (uint256 i = 0; i < options; i++) if (seen[i] == hash) _refuse(options);
            seen[options++] = hash;
            start = end + 1;
        }
        if (options < 2) _refuse(options);
    }

    /// @notice Returns the place of an option from 1 on; zero if it is none.
    function find(bytes memory specifications, bytes memory option) internal pure returns (uint8 place) {
        bytes32 wanted = keccak256(option);
        (uint256 start, uint256 end, bool last) = (9, 0, false);
        while (!last) {
            (end, last) = _endOf(specifications, start);
            place++;
            if (_hash(specifications, start, end) == wanted) return place;
            start = end + 1;
        }
        return 0;
    }

    /// @notice Returns the option at a place from 1 on.
    function get(bytes memory specifications, uint256 place) internal pure returns (bytes memory option) {
        uint256 start = 9;
        (uint256 end,) = _endOf(specifications, start);
        while (--place > 0) {
            start = end + 1;
            (end,) = _endOf(specifications, start);
        }
        option = new bytes(end - start);
        for (uint256 i = start; i < end; i++) option[i - start] = specifications[i];
    }

    /// @notice Returns the place of the only option that a text names, in whole words but for case; zero if it names none or
    ///   several, or has a word that denies: `The mill bridge was not flooded.` One letter names nothing.
    function findOnly(bytes memory specifications, bytes memory text) internal pure returns (uint8 place) {
        if (_denies(text)) return 0;
        (uint256 start, uint256 end, bool last) = (9, 0, false);
        for (uint8 option = 1; !last; option++) {
            (end, last) = _endOf(specifications, start);
            if (end > start + 1 && _names(text, specifications, start, end)) {
                if (place != 0) return 0;
                place = option;
            }
            start = end + 1;
        }
    }

    function _denies(bytes memory text) private pure returns (bool) {
        bytes memory words = "not no never nor none neither without cannot n't";
        uint256 start = 0;
        for (uint256 end = 0; end <= words.length; end++) {
            if (end < words.length && words[end] != " ") continue;
            if (_names(text, words, start, end)) return true;
            start = end + 1;
        }
        return false;
    }

    /// @dev Whether a text has a part of another text in whole words. What begins with `n'` may end a word: `isn't`.
    function _names(bytes memory text, bytes memory words, uint256 start, uint256 end) private pure returns (bool) {
        uint256 size = end - start;
        bool isEnding = size > 1 && words[start + 1] == "'";
        for (uint256 from = 0; from + size <= text.length; from++) {
            if (from > 0 && !isEnding && _isLetter(text[from - 1])) continue;
            if (from + size < text.length && _isLetter(text[from + size])) continue;
            uint256 same = 0;
            while (same < size && _lower(text[from + same]) == _lower(words[start + same])) same++;
            if (same == size) return true;
        }
        return false;
    }

    function _isLetter(bytes1 one) private pure returns (bool) {
        bytes1 low = _lower(one);
        return (low >= "a" && low <= "z") || (one >= "0" && one <= "9") || one >= 0x80;
    }

    function _lower(bytes1 one) private pure returns (bytes1) {
        return one >= "A" && one <= "Z" ? bytes1(uint8(one) + 32) : one;
    }

    function _endOf(bytes memory text, uint256 start) private pure returns (uint256 end, bool last) {
        end = start;
        while (end < text.length && text[end] != "|" && text[end] != "\n") end++;
        last = end >= text.length || text[end] == "\n";
    }

    function _hash(bytes memory text, uint256 start, uint256 end) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            hash := keccak256(add(add(text, 32), start), sub(end, start))
        }
    }

    function _refuse(uint256 option) private pure {
        revert ICouncil.MalformedOptions(option);
    }
}
