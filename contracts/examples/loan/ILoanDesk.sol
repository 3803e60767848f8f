// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ILoanPolicy} from "./ILoanPolicy.sol";

/// @notice What a pool knows of a borrower. Amounts are in base units of the pool's currency.
/// @param loans that were paid out
/// @param repaid of them, late ones included
/// @param late of those that were repaid, after their term
/// @param defaulted loans that were sold, or are past their grace period
/// @param borrowed principal of all loans
/// @param repaidAmount principal and interest that the borrower paid
/// @param firstLoanAt when the first loan was paid out, in Unix seconds; zero without loans
/// @param open loans that are neither repaid nor sold
/// @param debt principal and interest of those now
/// @param denied applications that were denied
struct BorrowerRecord {
    uint256 loans;
    uint256 repaid;
    uint256 late;
    uint256 defaulted;
    uint256 borrowed;
    uint256 repaidAmount;
    uint256 firstLoanAt;
    uint256 open;
    uint256 debt;
    uint256 denied;
}

/// @title The side of a lending pool that an agent and its tools see while an application is open
interface ILoanDesk {
    /// @notice An application for a loan.
    /// @param id its number, from 1
    /// @param applicant who sent it; the only account that a payout goes to
    /// @param amount of the currency, in base units
    /// @param collateral that the pool holds meanwhile, in base units of its token
    /// @param criteriaVersion of the policy that it is judged by
    struct Application {
        uint256 id;
        address applicant;
        uint256 amount;
        uint256 collateral;
        uint256 criteriaVersion;
    }

    /// @notice There is no open application: none was sent in this call, or it is decided.
    error NoOpenApplication();

    /// @notice Only the tool that the pool's owner named may decide this way.
    error NotDecider(address caller);

    /// @notice No check of this application has been made.
    error ScoreMissing(uint256 applicationId);

    /// @notice Required checks have not been made.
    /// @param checks a bit for each missing check
    /// @param names of the missing checks
    error MissingChecks(uint256 checks, string names);

    /// @notice The score is below the limit.
    error ScoreBelowLimit(uint256 score, uint256 limit);

    /// @notice The amount is zero or above the largest loan.
    error AboveMaxLoan(uint256 amount, uint256 limit);

    /// @notice The collateral is worth less than the policy asks for.
    error CollateralTooLow(uint256 collateral, uint256 needed);

    /// @notice The policy was changed after the application was opened.
    error CriteriaChanged(uint256 applied, uint256 current);

    /// @notice Returns the open application. Reverts with `NoOpenApplication` if there is none.
    function openApplication() external view returns (Application memory);

    /// @notice Approves the open application. For the tool that approves.
    /// @dev Reverts with the errors above; then nothing of the application remains. The pool pays after the agent's run.
    function approve() external;

    /// @notice Denies the open application. For the tool that denies.
    function deny() external;

    /// @notice Returns what the pool knows of a borrower.
    function recordOf(address borrower) external view returns (BorrowerRecord memory);

    /// @notice Returns the policy that applications are judged by.
    function policy() external view returns (ILoanPolicy);
}
