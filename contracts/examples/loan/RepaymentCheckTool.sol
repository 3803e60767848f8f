// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {BorrowerRecord, ILoanDesk} from "./ILoanDesk.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanCheckTool} from "./LoanCheckTool.sol";
import {LoanChecks} from "./LoanChecks.sol";

/// @title Counts the loans that the applicant repaid
/// @notice The points are the share that was repaid of loans that are no longer open; a late one counts half. Without such a
///   loan they are 50.
contract RepaymentCheckTool is LoanCheckTool {
    using Strings for uint256;

    /// @dev Neither good nor bad.
    uint256 private constant UNKNOWN_POINTS = 50;

    constructor(LendingPool _pool, IScoreBook _book) LoanCheckTool(_pool, _book, LoanChecks.REPAYMENTS) {}

    function name() external pure returns (string memory) {
        return "repayment_check";
    }

    function description() external pure returns (string memory) {
        return "Looks at repayments of earlier loans and counts them";
    }

    function _measure(ILoanDesk.Application memory application)
        internal
        view
        override
        returns (uint256 points, string memory found)
    {
        BorrowerRecord memory record = pool.recordOf(application.applicant);
        uint256 ended = record.repaid + record.defaulted;
        if (ended == 0) return (UNKNOWN_POINTS, "no loan was due");
        points = _share(2 * record.repaid - record.late, 2 * ended);
        found = string.concat(record.repaid.toString(), " of ", ended.toString(), " loans repaid, ");
        found = string.concat(found, record.late.toString(), " late");
    }
}
