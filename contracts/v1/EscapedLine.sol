// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Escapes line breaks and control characters, so that a text stays on one line
/// @notice The executor refuses a history with other lines than its own, so a tool's result is escaped before it becomes
///   one. The escapes are the executor's: `\n`, `\r`, and `\u` with four digits; a tab stays.
library EscapedLine {
    bytes16 private constant DIGITS = "0123456789abcdef";

    /// @notice Returns a text, in UTF-8, on one line.
    function escape(string memory text) internal pure returns (string memory) {
        bytes memory source = bytes(text);
        bytes memory line = new bytes(source.length * 6); // no character becomes more than six bytes for each of its own
        uint256 end;
        for (uint256 i = 0; i < source.length; i++) {
            (uint256 code, uint256 size) = _control(source, i);
            if (size == 0) {
                line[end++] = source[i];
            } else {
                end = _append(line, end, code);
                i += size - 1;
            }
        }
        assembly ("memory-safe") {
            mstore(line, end)
        }
        return string(line);
    }

    /// @dev The control character at a position and its bytes; no bytes where there is none.
    function _control(bytes memory text, uint256 place) private pure returns (uint256 code, uint256 size) {
        uint256 first = uint8(text[place]);
        if (first < 0x20 || first == 0x7f) return first == 0x09 ? (first, 0) : (first, 1);
        if (first == 0xc2 && place + 1 < text.length) {
            uint256 second = uint8(text[place + 1]);
            if (second >= 0x80 && second < 0xa0) return (second, 2); // U+0080 to U+009F
        }
        if (first == 0xe2 && place + 2 < text.length && text[place + 1] == 0x80) {
            uint256 third = uint8(text[place + 2]);
            if (third == 0xa8 || third == 0xa9) return (0x1f80 + third, 3); // U+2028, U+2029
        }
        return (0, 0);
    }

    function _append(bytes memory line, uint256 end, uint256 code) private pure returns (uint256) {
        line[end++] = "\\";
        if (code == 0x0a || code == 0x0d) {
            line[end++] = code == 0x0a ? bytes1("n") : bytes1("r");
            return end;
        }
        line[end++] = "u";
        for (uint256 shift = 16; shift > 0; shift -= 4) {
            line[end++] = DIGITS[(code >> (shift - 4)) & 0xf];
        }
        return end;
    }
}
