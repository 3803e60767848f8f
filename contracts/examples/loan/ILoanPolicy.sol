// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What a lending pool's DAO decides
interface ILoanPolicy {
    /// @notice What new applicants are evaluated by, in plain English: 1 to 500 printable ASCII characters, none of them a
    ///   quotation mark or a backslash.
    function criteria() external view returns (string memory);

    /// @notice The checks without which no application is approved, a bit for each; at least one.
    function requiredChecks() external view returns (uint256);

    /// @notice Grows by one with each change of criteria or terms, from 1.
    function criteriaVersion() external view returns (uint256);

    /// @notice The least score that is approved, 0 to 100.
    function scoreLimit() external view returns (uint256);

    /// @notice The largest loan, in base units of the currency.
    function maxLoan() external view returns (uint256);

    /// @notice Interest of a year, in hundredths of a percent.
    function rateBps() external view returns (uint256);

    /// @notice The least value of the collateral, in hundredths of a percent of the loan.
    function collateralBps() external view returns (uint256);

    /// @notice What a whole token of collateral counts for, in base units of the currency.
    function collateralPrice() external view returns (uint256);

    /// @notice Seconds of a loan.
    function term() external view returns (uint256);
}
