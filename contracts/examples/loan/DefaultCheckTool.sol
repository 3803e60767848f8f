// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {BorrowerRecord, ILoanDesk} from "./ILoanDesk.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanCheckTool} from "./LoanCheckTool.sol";
import {LoanChecks} from "./LoanChecks.sol";

/// @title Counts the defaults of the applicant
/// @notice Without a default the points are 100, with one 30, with more 0.
contract DefaultCheckTool is LoanCheckTool {
    using Strings for uint256;

    uint256 private constant ONE_DEFAULT_POINTS = 30;

    constructor(LendingPool _pool, IScoreBook _book) LoanCheckTool(_pool, _book, LoanChecks.DEFAULTS) {}

    function name() external pure returns (string memory) {
        return "default_check";
    }

    function description() external pure returns (string memory) {
        return "Counts the defaults on loans";
    }

    function _measure(ILoanDesk.Application memory application)
        internal
        view
        override
        returns (uint256 points, string memory found)
    {
        BorrowerRecord memory record = pool.recordOf(application.applicant);
        if (record.defaulted < 2) points = record.defaulted == 0 ? LoanChecks.MOST_POINTS : ONE_DEFAULT_POINTS;
        found = string.concat(record.defaulted.toString(), " of ", record.loans.toString(), " loans defaulted");
    }
}
