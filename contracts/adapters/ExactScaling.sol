// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SignedMath} from "@openzeppelin/contracts/utils/math/SignedMath.sol";

/// @title Conversions between fixed-point numbers and IEEE 754 single precision, in integers, with a stated rounding
library ExactScaling {
    /// @notice How a number that isn't exact is rounded. The numbers are Ritual's.
    enum Rounding {
        NONE,
        HALF_EVEN,
        TRUNCATE,
        FLOOR,
        CEIL
    }

    /// @notice The bit pattern is an infinity or not a number.
    error NotFinite(uint32 bits);

    /// @notice The number leaves the range that can be converted.
    error NumberTooLarge(int256 value);

    /// @dev `MOST_SIZE * 10^37` and `2^128 * 10^37` are below 2^252. 10^-37 is above the least normal number.
    uint256 internal constant MOST_SIZE = type(uint128).max;
    uint8 internal constant MAX_DECIMALS = 37;

    /// @notice Returns `value * factor / divisor`, rounded.
    /// @param value its size is at most `MOST_SIZE`
    /// @param factor at most 10^37
    /// @param divisor above zero
    function scale(int256 value, uint256 factor, uint256 divisor, Rounding rounding) internal pure returns (int256) {
        uint256 size = SignedMath.abs(value);
        if (size > MOST_SIZE) revert NumberTooLarge(value);
        return _divide(value < 0, size * factor, divisor, rounding);
    }

    /// @notice Reads a single-precision number as `number * factor`, rounded.
    /// @param factor at most 10^37
    function fromFloat(uint32 bits, uint256 factor, Rounding rounding) internal pure returns (int256) {
        uint256 exponent = (bits >> 23) & 0xff;
        uint256 size = bits & 0x7fffff;
        if (exponent == 0xff) revert NotFinite(bits);
        if (exponent == 0) exponent = 1; // a subnormal number
        else size |= 0x800000;
        bool isNegative = bits >> 31 == 1;
        // The number is size * 2^(exponent - 150).
        if (exponent >= 150) return _divide(isNegative, (size << (exponent - 150)) * factor, 1, rounding);
        return _divide(isNegative, size * factor, 1 << (150 - exponent), rounding);
    }

    /// @notice Writes `value / divisor` as a single-precision number.
    /// @param value its size is at most `MOST_SIZE`
    /// @param divisor from 1 to 10^37
    function toFloat(int256 value, uint256 divisor, Rounding rounding) internal pure returns (uint32) {
        uint256 size = SignedMath.abs(value);
        if (size == 0) return 0;
        if (size > MOST_SIZE) revert NumberTooLarge(value);

        // size / divisor = (24 bits) * 2^shift, with the shift found to one place.
        int256 shift = int256(Math.log2(size)) - int256(Math.log2(divisor)) - 23;
        if (_isBelow(size, divisor, shift)) shift--;
        (uint256 top, uint256 bottom) = _shifted(size, divisor, shift);
        uint256 digits = SignedMath.abs(_divide(value < 0, top, bottom, rounding));
        if (digits == 1 << 24) (digits, shift) = (1 << 23, shift + 1); // rounded up to a power of two
        uint256 exponent = uint256(shift + 150); // 23 places, and a bias of 127
        if (exponent > 254) revert NumberTooLarge(value);
        return uint32((value < 0 ? 1 << 31 : 0) | (exponent << 23) | (digits & 0x7fffff));
    }

    /// @dev Tells whether a quotient has fewer than 24 bits before the point.
    function _isBelow(uint256 size, uint256 divisor, int256 shift) private pure returns (bool) {
        (uint256 top, uint256 bottom) = _shifted(size, divisor, shift);
        return top / bottom < 1 << 23;
    }

    function _shifted(uint256 size, uint256 divisor, int256 shift) private pure returns (uint256, uint256) {
        if (shift < 0) return (size << uint256(-shift), divisor);
        return (size, divisor << uint256(shift));
    }

    function _divide(bool isNegative, uint256 size, uint256 divisor, Rounding rounding) private pure returns (int256) {
        uint256 quotient = size / divisor;
        uint256 rest = size % divisor;
        bool isUp = false;
        if (rest != 0) {
            if (rounding == Rounding.FLOOR) isUp = isNegative;
            else if (rounding == Rounding.CEIL) isUp = !isNegative;
            else if (rounding == Rounding.HALF_EVEN) {
                isUp = rest > divisor - rest || (rest == divisor - rest && quotient & 1 == 1);
            }
        }
        if (isUp) quotient++;
        return isNegative ? -int256(quotient) : int256(quotient);
    }
}
