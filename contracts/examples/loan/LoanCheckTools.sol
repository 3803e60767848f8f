// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {BorrowerRecord, ILoanDesk} from "./ILoanDesk.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanChecks} from "./LoanChecks.sol";
import {LoanTool} from "./LoanTool.sol";

/// @title A check of the open application's applicant
/// @notice It computes points from the chain, notes them in the score book and tells them. It has no parameters: the model
///   chooses to check, and nothing else. Anybody may run it while an application is open, since it only notes facts.
abstract contract LoanCheckTool is LoanTool {
    using Strings for uint256;

    /// @notice Has the points.
    IScoreBook public immutable book;

    /// @notice One of `LoanChecks`.
    uint8 public immutable check;

    constructor(LendingPool _pool, IScoreBook _book, uint8 _check) LoanTool(_pool) {
        (book, check) = (_book, _check);
    }

    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @notice Makes the check; answers for example "100 of 100 points: 0 of 3 loans defaulted".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        _requireNoInput(input);
        (uint256 points, string memory found) = _measure(pool.openApplication());
        book.notePoints(check, uint8(points));
        return (-1, string.concat(points.toString(), " of 100 points: ", found));
    }

    /// @dev Returns points up to `LoanChecks.MOST_POINTS`, and what they are for.
    function _measure(ILoanDesk.Application memory application)
        internal
        view
        virtual
        returns (uint256 points, string memory found);

    /// @dev Returns the points for a part of a whole; all of them for more.
    function _share(uint256 part, uint256 whole) internal pure returns (uint256) {
        if (part >= whole) return LoanChecks.MOST_POINTS;
        return Math.mulDiv(part, LoanChecks.MOST_POINTS, whole);
    }
}

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
