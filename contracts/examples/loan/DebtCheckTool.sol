// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {ILoanDesk} from "./ILoanDesk.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanCheckTool} from "./LoanCheckTool.sol";
import {LoanChecks} from "./LoanChecks.sol";

/// @title Adds up what the applicant owes to the pool
/// @notice The points fall with the debt, evenly from 100 for none to 0 for the largest loan.
contract DebtCheckTool is LoanCheckTool {
    constructor(LendingPool _pool, IScoreBook _book) LoanCheckTool(_pool, _book, LoanChecks.DEBT) {}

    function name() external pure returns (string memory) {
        return "debt_check";
    }

    function description() external pure returns (string memory) {
        return "Adds up the debt that the applicant owes";
    }

    function _measure(ILoanDesk.Application memory application)
        internal
        view
        override
        returns (uint256 points, string memory found)
    {
        uint256 debt = pool.recordOf(application.applicant).debt;
        points = LoanChecks.MOST_POINTS - _share(debt, pool.policy().maxLoan());
        return (points, string.concat(_tellAmount(debt), " owed"));
    }
}
