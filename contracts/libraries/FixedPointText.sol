// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {SignedMath} from "@openzeppelin/contracts/utils/math/SignedMath.sol";

/// @title Fixed-point numbers as decimal text, and back
/// @notice With 4 decimals, 12500 is "1.25".
library FixedPointText {
    /// @notice The text isn't a decimal number such as "1.25" or "-3", or isn't exact in so few decimals.
    error MalformedNumber(string text, uint8 decimals);

    /// @notice 10 to this power is the largest that an int256 holds.
    uint8 internal constant MAX_DECIMALS = 76;

    /// @notice Writes a number, rounded half away from zero to fewer decimals.
    /// @param decimals of `value`, at most `MAX_DECIMALS`
    /// @param shown decimals of the text, at most `decimals`
    /// @return the text; never "-0"
    function format(int256 value, uint8 decimals, uint8 shown) internal pure returns (string memory) {
        uint256 unit = 10 ** uint256(decimals - shown);
        uint256 size = SignedMath.abs(value);
        uint256 rest = size % unit;
        size = size / unit + (rest >= unit - rest ? 1 : 0);
        string memory sign = value < 0 && size != 0 ? "-" : "";
        uint256 one = 10 ** uint256(shown);
        string memory whole = string.concat(sign, Strings.toString(size / one));
        return shown == 0 ? whole : string.concat(whole, ".", _padded(size % one, shown));
    }

    /// @notice Reads a number: an optional `-`, digits, and optionally a point and digits.
    /// @param decimals of the result, at most `MAX_DECIMALS`
    function parse(string memory text, uint8 decimals) internal pure returns (int256 value) {
        bytes memory chars = bytes(text);
        bool isNegative = chars.length > 0 && chars[0] == "-";
        uint256 point = isNegative ? 1 : 0;
        uint256 start = point;
        while (point < chars.length && chars[point] != ".") point++;
        uint256 places = point == chars.length ? 0 : chars.length - point - 1;
        bool hasEmptyPart = point == start || (point < chars.length && places == 0);
        if (hasEmptyPart || places > decimals || chars.length > MAX_DECIMALS) revert MalformedNumber(text, decimals);

        uint256 size;
        for (uint256 i = start; i < chars.length; i++) {
            if (i == point) continue;
            uint256 digit = uint8(chars[i]) ^ 0x30;
            if (digit > 9) revert MalformedNumber(text, decimals);
            size = size * 10 + digit; // at most 76 digits
        }
        uint256 factor = 10 ** (decimals - places);
        if (size > uint256(type(int256).max) / factor) revert MalformedNumber(text, decimals);
        value = int256(size * factor);
        if (isNegative) value = -value;
    }

    function _padded(uint256 value, uint8 digits) private pure returns (string memory) {
        bytes memory text = new bytes(digits);
        for (uint256 i = digits; i > 0; i--) {
            text[i - 1] = bytes1(uint8(0x30 + value % 10));
            value /= 10;
        }
        return string(text);
    }
}
