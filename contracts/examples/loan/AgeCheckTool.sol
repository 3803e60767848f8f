// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ILoanDesk} from "./ILoanDesk.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanCheckTool} from "./LoanCheckTool.sol";
import {LoanChecks} from "./LoanChecks.sol";

/// @title Tells how long the pool has known the applicant
/// @notice The points are the share of a year since the first loan.
contract AgeCheckTool is LoanCheckTool {
    using Strings for uint256;

    constructor(LendingPool _pool, IScoreBook _book) LoanCheckTool(_pool, _book, LoanChecks.HISTORY) {}

    function name() external pure returns (string memory) {
        return "age_check";
    }

    function description() external pure returns (string memory) {
        return "Tells the age of the account, how old it is";
    }

    function _measure(ILoanDesk.Application memory application)
        internal
        view
        override
        returns (uint256 points, string memory found)
    {
        uint256 first = pool.recordOf(application.applicant).firstLoanAt;
        uint256 age = first == 0 ? 0 : block.timestamp - first;
        return (_share(age, 365 days), string.concat((age / 1 days).toString(), " days old"));
    }
}
