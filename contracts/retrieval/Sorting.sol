// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// @title Sorts numbers in a time that no order of them makes quadratic
/// @notice The numbers are put into buckets by their highest bits, which almost sorts numbers that begin with a hash; a merge
///   sort does the rest, and passes over what is in order. A quicksort, as OpenZeppelin's, takes quadratic time and a deep
///   stack for lists that repeat a value or are nearly sorted, which the words of a text can be made to be.
library Sorting {
    /// @notice Sorts in place, ascending: some 600 gas a value for numbers that begin with a hash; for any others at most
    ///   300, and 200 more for each doubling of the count.
    /// @param bits of the numbers; all are less than 2^bits
    function sort(uint256[] memory values, uint256 bits) internal pure {
        uint256 count = values.length;
        if (count < 2) return;
        uint256[] memory other = new uint256[](count);
        (uint256 from, uint256 to) = (_data(other), _data(values));
        _distribute(to, from, count, bits);
        unchecked {
            for (uint256 width = 1; width < count; width *= 2) {
                for (uint256 left = 0; left < count; left += 2 * width) {
                    uint256 middle = left + width < count ? left + width : count;
                    uint256 right = middle + width < count ? middle + width : count;
                    _merge(from + 32 * left, from + 32 * middle, from + 32 * right, to + 32 * left);
                }
                (from, to) = (to, from);
            }
        }
        if (from != _data(values)) {
            assembly ("memory-safe") {
                mcopy(to, from, shl(5, count))
            }
        }
    }

    /// @dev Copies numbers, ordered by their highest bits; of equal ones the first stays first.
    function _distribute(uint256 from, uint256 to, uint256 count, uint256 bits) private pure {
        uint256 bucketBits = Math.min(Math.log2(count), bits);
        uint256 shift = bits - bucketBits;
        uint256 buckets = _data(new uint256[](1 << bucketBits));
        assembly ("memory-safe") {
            let end := add(from, shl(5, count))
            for { let value := from } lt(value, end) { value := add(value, 32) } {
                let bucket := add(buckets, shl(5, shr(shift, mload(value))))
                mstore(bucket, add(mload(bucket), 32))
            }
            let bucketsEnd := add(buckets, shl(add(bucketBits, 5), 1))
            for { let bucket := buckets } lt(bucket, bucketsEnd) { bucket := add(bucket, 32) } {
                let size := mload(bucket)
                mstore(bucket, to)
                to := add(to, size)
            }
            for {} lt(from, end) { from := add(from, 32) } {
                let value := mload(from)
                let bucket := add(buckets, shl(5, shr(shift, value)))
                let place := mload(bucket)
                mstore(place, value)
                mstore(bucket, add(place, 32))
            }
        }
    }

    /// @dev Merges two sorted runs, [left, middle) and [middle, right), into a third place.
    function _merge(uint256 left, uint256 middle, uint256 right, uint256 to) private pure {
        assembly ("memory-safe") {
            let second := middle
            if lt(middle, right) {
                let start := middle
                for { let least := mload(middle) } gt(start, left) { start := sub(start, 32) } {
                    if iszero(gt(mload(sub(start, 32)), least)) { break }
                }
                let ordered := sub(start, left)
                mcopy(to, left, ordered)
                to := add(to, ordered)
                left := start
            }
            for {} and(lt(left, middle), lt(second, right)) { to := add(to, 32) } {
                let a := mload(left)
                let b := mload(second)
                switch gt(a, b)
                case 0 {
                    mstore(to, a)
                    left := add(left, 32)
                }
                default {
                    mstore(to, b)
                    second := add(second, 32)
                }
            }
            mcopy(to, left, sub(middle, left))
            mcopy(add(to, sub(middle, left)), second, sub(right, second))
        }
    }

    function _data(uint256[] memory values) private pure returns (uint256 pointer) {
        assembly ("memory-safe") {
            pointer := add(values, 32)
        }
    }
}
