// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ILoanDesk} from "./ILoanDesk.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanCheckTool} from "./LoanCheckTool.sol";
import {LoanChecks} from "./LoanChecks.sol";

/// @title Reads the applicant's balance of the currency
/// @notice The points are its share of the amount that the application asks for. A balance can be lent for a transaction,
///   so this check is weak alone: require it beside others.
contract SavingsCheckTool is LoanCheckTool {
    constructor(LendingPool _pool, IScoreBook _book) LoanCheckTool(_pool, _book, LoanChecks.SAVINGS) {}

    function name() external pure returns (string memory) {
        return "savings_check";
    }

    function description() external pure returns (string memory) {
        return "Reads the savings of the applicant";
    }

    function _measure(ILoanDesk.Application memory application)
        internal
        view
        override
        returns (uint256 points, string memory found)
    {
        uint256 saved = IERC20(pool.asset()).balanceOf(application.applicant);
        return (_share(saved, application.amount), string.concat(_tellAmount(saved), " saved"));
    }
}
