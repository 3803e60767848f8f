// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Keeps the points of an application's checks, and computes its score from them
interface IScoreBook {
    /// @notice Only the tool of a check may note its points.
    error NotCheckTool(uint8 check, address caller);

    /// @notice The check was made before, with other points.
    error AlreadyNoted(uint8 check, uint8 points);

    /// @notice Points are 0 to 100.
    error WrongPoints(uint8 points);

    /// @notice Notes the points of a check of the open application. For the check's tool. The same points may be noted
    ///   again.
    /// @dev Reverts with `ILoanDesk.NoOpenApplication` if no application is open.
    /// @param check one of `LoanChecks`
    /// @param points 0 to 100
    function notePoints(uint8 check, uint8 points) external;

    /// @notice Returns an application's score.
    /// @return exists false if no check has been made
    /// @return value the mean of the points of all checks that the criteria required, 0 to 100, half a point rounded up. A
    ///   required check that was not made counts as 0 points; others count for nothing.
    /// @return checks a bit for each check that was made
    function score(uint256 applicationId) external view returns (bool exists, uint8 value, uint256 checks);

    /// @notice Returns the points of an application's check.
    function pointsOf(uint256 applicationId, uint8 check) external view returns (bool exists, uint8 points);

    /// @notice Returns the names of checks, such as "repayments, defaults".
    /// @param checks a bit for each
    function namesOf(uint256 checks) external view returns (string memory);
}
