// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Writes unsigned integers as decimal text
library Decimal {
    /// @return text the digits of `value`, without leading zeros; "0" for zero
    function toString(uint256 value) internal pure returns (string memory text) {
        uint256 digits = 1;
        for (uint256 rest = value / 10; rest != 0; rest /= 10) digits++;

        bytes memory buffer = new bytes(digits);
        for (uint256 i = digits; i > 0; i--) {
            buffer[i - 1] = bytes1(uint8(48 + value % 10));
            value /= 10;
        }
        return string(buffer);
    }
}
