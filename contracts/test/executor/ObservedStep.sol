// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Bytes} from "./Bytes.sol";

/// @title A step of a version-1 run: its reasoning, and its observation on one more line
/// @notice The rules are the precompile's (precompiles/react.py and precompiles/escaping.py).
library ObservedStep {
    bytes14 private constant BEGINNING = "\nObservation: ";
    uint256 private constant LETTER = 0x41;

    /// @notice Returns the two parts of an entry of `agentReasoning`.
    /// @param entry the lines Thought, Action, Action Input and Observation
    /// @return isStep false where the last line is no observation, or has a control character that is not escaped
    /// @return reasoning the lines before the last one
    /// @return observation what the tool said, without escapes
    function split(bytes memory entry)
        internal
        pure
        returns (bool isStep, string memory reasoning, string memory observation)
    {
        uint256 end = entry.length;
        if (end > 0 && entry[end - 1] == "\n") end--;
        uint256 line = end; // where the last line's break is
        while (line > 0 && entry[--line] != "\n") {}
        uint256 start = line + BEGINNING.length;
        if (start > end || bytes14(bytes32(Bytes.word(entry, line))) != BEGINNING) return (false, "", "");
        reasoning = string(Bytes.slice(entry, 0, line));
        (isStep, observation) = _unescape(Bytes.slice(entry, start, end));
    }

    function _unescape(bytes memory line) private pure returns (bool isLine, string memory text) {
        uint256 size;
        for (uint256 i = 0; i < line.length;) {
            uint256 window = Bytes.word(line, i);
            if (_isControl(_code(window))) return (false, "");
            // No character takes more bytes than its escape, so the line is written over itself.
            unchecked {
                (uint256 code, uint256 width) = _escape(window, line.length - i);
                if (width == 0) {
                    (code, width) = (window >> 248, 1);
                } else if (code >= 0xa0) {
                    line[size++] = 0xe2;
                    line[size++] = 0x80;
                    code -= 0x1f80;
                } else if (code >= 0x80) {
                    line[size++] = 0xc2;
                }
                line[size++] = bytes1(uint8(code));
                i += width;
            }
        }
        assembly ("memory-safe") {
            mstore(line, size)
        }
        return (true, string(line));
    }

    /// @dev The code point of a character that can be a control character; a letter's for every other.
    function _code(uint256 window) private pure returns (uint256) {
        if (window >> 248 < 0x80) return window >> 248;
        if (window >> 248 == 0xc2) return (window >> 240) & 0xff;
        return window >> 240 == 0xe280 ? 0x1f80 + ((window >> 232) & 0xff) : LETTER;
    }

    /// @dev The character that an escape stands for and the escape's bytes; no bytes where there is none.
    /// @param left how many bytes of the window are the text's
    function _escape(uint256 window, uint256 left) private pure returns (uint256 code, uint256 width) {
        uint256 kind = left < 2 ? 0 : window >> 240;
        if (kind == 0x5c6e) return (0x0a, 2);
        if (kind == 0x5c72) return (0x0d, 2);
        if (kind != 0x5c75 || left < 6) return (0, 0);
        unchecked {
            for (uint256 shift = 232; shift >= 208; shift -= 8) {
                uint256 digit = (window >> shift) & 0xff;
                if (digit >= 48 && digit <= 57) digit -= 48;
                else if (digit >= 97 && digit <= 102) digit -= 87;
                else return (0, 0);
                code = (code << 4) | digit;
            }
        }
        return _isControl(code) && code != 0x0a && code != 0x0d ? (code, 6) : (0, 0);
    }

    function _isControl(uint256 code) private pure returns (bool) {
        if (code < 0x20) return code != 0x09;
        return (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    }
}
