// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title The numbers of the checks; bit `1 << number` of `ILoanPolicy.requiredChecks`
library LoanChecks {
    uint8 internal constant REPAYMENTS = 0;
    uint8 internal constant DEFAULTS = 1;
    uint8 internal constant SAVINGS = 2;
    uint8 internal constant HISTORY = 3;
    uint8 internal constant DEBT = 4;

    /// @dev Numbers that a book has room for.
    uint8 internal constant MOST = 16;

    /// @dev Points of the best result.
    uint8 internal constant MOST_POINTS = 100;
}
