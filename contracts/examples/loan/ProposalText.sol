// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LoanPolicy} from "./LoanPolicy.sol";

/// @title Tells what a proposal of a lending pool's DAO does
/// @notice It reads the calls, not only the description, so a description can't hide what is decided.
contract ProposalText {
    using Strings for uint256;

    /// @notice What a proposal is about.
    /// @dev OTHER: several calls, or one of another contract or function.
    enum Topic {
        OTHER,
        MORE_CHECKS, // sets criteria that require every check of today's
        FEWER_CHECKS, // sets criteria that leave a check of today's out
        TERMS
    }

    LoanPolicy public immutable policy;

    /// @notice Has the checks' names.
    IScoreBook public immutable book;

    constructor(LoanPolicy _policy, IScoreBook _book) {
        policy = _policy;
        book = _book;
    }

    /// @notice Returns a sentence for each call, and the description in quotation marks. The arguments are `propose`'s.
    function describe(
        address[] memory targets,
        uint256[] memory values,
        bytes[] memory calldatas,
        string memory description
    ) external view returns (string memory text) {
        for (uint256 i = 0; i < targets.length; i++) {
            text = string.concat(text, _sentence(targets[i], values[i], calldatas[i]), " ");
        }
        return string.concat(text, "Its description: '", description, "'");
    }

    /// @notice Returns what a proposal is about, by its calls alone.
    function topicOf(address[] memory targets, uint256[] memory values, bytes[] memory calldatas)
        external
        view
        returns (Topic)
    {
        if (targets.length != 1 || targets[0] != address(policy) || values[0] != 0) return Topic.OTHER;
        bytes4 selector = bytes4(calldatas[0]);
        if (selector == LoanPolicy.setTerms.selector) return Topic.TERMS;
        if (selector != LoanPolicy.setCriteria.selector) return Topic.OTHER;
        (, uint256 checks) = abi.decode(_arguments(calldatas[0]), (string, uint256));
        return policy.requiredChecks() & ~checks == 0 ? Topic.MORE_CHECKS : Topic.FEWER_CHECKS;
    }

    function _sentence(address target, uint256 value, bytes memory data) private view returns (string memory) {
        if (target == address(policy) && value == 0) {
            if (bytes4(data) == LoanPolicy.setCriteria.selector) return _criteria(_arguments(data));
            if (bytes4(data) == LoanPolicy.setTerms.selector) return _terms(_arguments(data));
        }
        return "It calls a contract that is not known.";
    }

    function _criteria(bytes memory arguments) private view returns (string memory) {
        (string memory criteria, uint256 checks) = abi.decode(arguments, (string, uint256));
        return string.concat("It sets the criteria to '", criteria, "' and requires ", book.namesOf(checks), ".");
    }

    function _terms(bytes memory arguments) private pure returns (string memory) {
        LoanPolicy.Terms memory terms = abi.decode(arguments, (LoanPolicy.Terms));
        string memory text = string.concat(
            "It sets the score limit to ", terms.scoreLimit.toString(), ", the largest loan to ", terms.maxLoan.toString()
        );
        text = string.concat(text, " units, the interest to ", terms.rateBps.toString(), " basis points, the collateral to ");
        return string.concat(text, terms.collateralBps.toString(), " basis points.");
    }

    function _arguments(bytes memory data) private pure returns (bytes memory arguments) {
        arguments = new bytes(data.length - 4);
        for (uint256 i = 0; i < arguments.length; i++) arguments[i] = data[i + 4];
    }
}
