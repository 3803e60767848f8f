// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ILoanDesk} from "./ILoanDesk.sol";
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
