// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ILoanDesk} from "./ILoanDesk.sol";
import {ILoanPolicy} from "./ILoanPolicy.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LoanChecks} from "./LoanChecks.sol";

/// @title Keeps the points of an application's checks, and computes its score from them
/// @notice A tool for each check notes its points, which it computes from the chain. What the model says of them has no
///   influence: the score is the same function of the points for everybody.
contract ScoreBook is IScoreBook, Ownable {
    using Strings for uint256;

    /// @notice There is no room for a check of this number, or its name is empty.
    error InvalidCheck(uint8 check);

    /// @notice A check got a tool, or lost it.
    event CheckSet(uint8 indexed check, address tool, string name);

    /// @notice Points of a check were noted.
    event PointsNoted(uint256 indexed applicationId, uint8 indexed check, uint8 points, uint256 criteriaVersion);

    /// @dev The checks of an application, in one word of storage.
    /// @param criteriaVersion of the policy when the first check was made
    /// @param required a bit for each check that these criteria require
    /// @param made a bit for each check that was made
    /// @param points eight bits for each check
    struct Sheet {
        uint64 criteriaVersion;
        uint16 required;
        uint16 made;
        uint128 points;
    }

    uint256 private constant BITS = 8;

    /// @notice Where applications are open.
    ILoanDesk public immutable desk;

    /// @notice The only contract that may note a check's points.
    mapping(uint8 check => address) public toolOf;

    mapping(uint8 check => string) private names;
    mapping(uint256 applicationId => Sheet) private sheets;

    /// @param owner names the tools
    constructor(address owner, ILoanDesk _desk) Ownable(owner) {
        desk = _desk;
    }

    /// @notice Names the tool of a check. For the owner.
    /// @param check one of `LoanChecks`
    /// @param tool zero: nobody notes its points any more
    /// @param name what errors call it, such as "repayments"
    function setCheck(uint8 check, address tool, string calldata name) external onlyOwner {
        if (check >= LoanChecks.MOST || bytes(name).length == 0) revert InvalidCheck(check);
        toolOf[check] = tool;
        names[check] = name;
        emit CheckSet(check, tool, name);
    }

    /// @inheritdoc IScoreBook
    function notePoints(uint8 check, uint8 points) external {
        if (check >= LoanChecks.MOST || msg.sender != toolOf[check]) revert NotCheckTool(check, msg.sender);
        if (points > LoanChecks.MOST_POINTS) revert WrongPoints(points);
        ILoanDesk.Application memory application = desk.openApplication();
        ILoanPolicy policy = desk.policy();
        uint256 version = policy.criteriaVersion();
        if (version != application.criteriaVersion) {
            revert ILoanDesk.CriteriaChanged(application.criteriaVersion, version);
        }
        Sheet memory sheet = sheets[application.id];
        if (_isMade(sheet, check)) {
            if (_pointsOf(sheet, check) != points) revert AlreadyNoted(check, _pointsOf(sheet, check));
            return;
        }
        if (sheet.made == 0) (sheet.criteriaVersion, sheet.required) = (uint64(version), uint16(policy.requiredChecks()));
        sheet.made |= uint16(1 << check);
        sheet.points |= uint128(uint256(points) << (check * BITS));
        sheets[application.id] = sheet;
        emit PointsNoted(application.id, check, points, version);
    }

    /// @inheritdoc IScoreBook
    function score(uint256 applicationId) external view returns (bool exists, uint8 value, uint256 checks) {
        Sheet memory sheet = sheets[applicationId];
        if (sheet.made == 0) return (false, 0, 0);
        uint256 sum;
        uint256 count;
        for (uint8 check = 0; check < LoanChecks.MOST; check++) {
            if (sheet.required >> check & 1 == 0) continue;
            count++;
            sum += _pointsOf(sheet, check);
        }
        return (true, uint8((2 * sum + count) / (2 * count)), sheet.made);
    }

    /// @inheritdoc IScoreBook
    function pointsOf(uint256 applicationId, uint8 check) external view returns (bool exists, uint8 points) {
        Sheet memory sheet = sheets[applicationId];
        if (check >= LoanChecks.MOST || !_isMade(sheet, check)) return (false, 0);
        return (true, _pointsOf(sheet, check));
    }

    /// @inheritdoc IScoreBook
    function namesOf(uint256 checks) external view returns (string memory list) {
        for (uint8 check = 0; check < LoanChecks.MOST; check++) {
            if (checks >> check & 1 == 0) continue;
            string memory name = names[check];
            if (bytes(name).length == 0) name = string.concat("check ", uint256(check).toString());
            list = bytes(list).length == 0 ? name : string.concat(list, ", ", name);
        }
    }

    function _isMade(Sheet memory sheet, uint8 check) private pure returns (bool) {
        return sheet.made >> check & 1 == 1;
    }

    function _pointsOf(Sheet memory sheet, uint8 check) private pure returns (uint8) {
        return uint8(sheet.points >> (check * BITS));
    }
}
