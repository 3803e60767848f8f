// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ILoanPolicy} from "./ILoanPolicy.sol";
import {LoanChecks} from "./LoanChecks.sol";

/// @title What a lending pool's DAO decides
/// @notice Its owner is the timelock of a Governor, so criteria and terms are changed by votes alone. A change is in force
///   in the next transaction.
contract LoanPolicy is ILoanPolicy, Ownable {
    /// @notice What a loan costs and needs.
    /// @param scoreLimit the least score that is approved, 0 to 100
    /// @param maxLoan the largest loan, in base units of the currency; 0 for no loans
    /// @param rateBps interest of a year, in hundredths of a percent, at most 10,000
    /// @param collateralBps the least value of the collateral, in hundredths of a percent of the loan, at most 100,000
    /// @param collateralPrice what a whole token of collateral counts for, in base units of the currency
    /// @param term seconds of a loan, 1 to 3,650 days
    struct Terms {
        uint256 scoreLimit;
        uint256 maxLoan;
        uint256 rateBps;
        uint256 collateralBps;
        uint256 collateralPrice;
        uint256 term;
    }

    /// @notice The criteria are empty or too long. Sizes are in bytes.
    error WrongCriteriaSize(uint256 size, uint256 limit);

    /// @notice The criteria have a character that is not printable ASCII, or is a quotation mark or a backslash.
    error WrongCriteriaCharacter(uint256 position);

    /// @notice A bit is set that is no check's number, or none is set.
    error WrongChecks(uint256 checks);

    /// @notice A term is outside of its range.
    error InvalidTerms();

    /// @notice The criteria were changed.
    event CriteriaSet(uint256 indexed version, string criteria, uint256 requiredChecks);

    /// @notice The terms were changed.
    event TermsSet(uint256 indexed version, Terms terms);

    /// @notice Bytes of the criteria: some 100 words, which a model reads beside everything else of a run.
    uint256 public constant MAX_CRITERIA_BYTES = 500;

    uint256 private constant MAX_SCORE = 100;
    uint256 private constant MAX_RATE_BPS = 10_000;
    uint256 private constant MAX_COLLATERAL_BPS = 100_000;
    uint256 private constant MAX_TERM = 3_650 days;

    /// @inheritdoc ILoanPolicy
    string public criteria;

    /// @inheritdoc ILoanPolicy
    uint256 public requiredChecks;

    /// @inheritdoc ILoanPolicy
    uint256 public criteriaVersion;

    Terms private terms;

    /// @param owner changes criteria and terms: a timelock
    constructor(address owner, string memory _criteria, uint256 _requiredChecks, Terms memory _terms) Ownable(owner) {
        _setCriteria(_criteria, _requiredChecks, 1);
        _setTerms(_terms, 1);
    }

    /// @notice Sets what new applicants are evaluated by. For the owner.
    /// @param text in plain English; it should ask for the required checks in the words of their tools
    /// @param checks a bit for each check without which no application is approved
    function setCriteria(string calldata text, uint256 checks) external onlyOwner {
        _setCriteria(text, checks, criteriaVersion + 1);
    }

    /// @notice Sets the terms of new loans. For the owner.
    function setTerms(Terms calldata _terms) external onlyOwner {
        _setTerms(_terms, criteriaVersion + 1);
    }

    /// @inheritdoc ILoanPolicy
    function scoreLimit() external view returns (uint256) {
        return terms.scoreLimit;
    }

    /// @inheritdoc ILoanPolicy
    function maxLoan() external view returns (uint256) {
        return terms.maxLoan;
    }

    /// @inheritdoc ILoanPolicy
    function rateBps() external view returns (uint256) {
        return terms.rateBps;
    }

    /// @inheritdoc ILoanPolicy
    function collateralBps() external view returns (uint256) {
        return terms.collateralBps;
    }

    /// @inheritdoc ILoanPolicy
    function collateralPrice() external view returns (uint256) {
        return terms.collateralPrice;
    }

    /// @inheritdoc ILoanPolicy
    function term() external view returns (uint256) {
        return terms.term;
    }

    function _setCriteria(string memory text, uint256 checks, uint256 version) private {
        _requireCharacters(bytes(text));
        if (checks == 0 || checks >> LoanChecks.MOST != 0) revert WrongChecks(checks);
        (criteria, requiredChecks, criteriaVersion) = (text, checks, version);
        emit CriteriaSet(version, text, checks);
    }

    function _setTerms(Terms memory _terms, uint256 version) private {
        bool isValid = _terms.scoreLimit <= MAX_SCORE && _terms.maxLoan <= type(uint128).max
            && _terms.rateBps <= MAX_RATE_BPS && _terms.collateralBps <= MAX_COLLATERAL_BPS
            && _terms.collateralPrice > 0 && _terms.collateralPrice <= type(uint128).max
            && _terms.term > 0 && _terms.term <= MAX_TERM;
        if (!isValid) revert InvalidTerms();
        (terms, criteriaVersion) = (_terms, version);
        emit TermsSet(version, _terms);
    }

    /// @dev The criteria become an observation of the agent: one line, inside quotation marks.
    function _requireCharacters(bytes memory text) private pure {
        if (text.length == 0 || text.length > MAX_CRITERIA_BYTES) {
            revert WrongCriteriaSize(text.length, MAX_CRITERIA_BYTES);
        }
        for (uint256 i = 0; i < text.length; i++) {
            bytes1 each = text[i];
            if (each < 0x20 || each > 0x7e || each == '"' || each == "\\") revert WrongCriteriaCharacter(i);
        }
    }
}
