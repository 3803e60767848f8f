// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {ICouncilReputation} from "../../council/ICouncilReputation.sol";
import {Terms} from "../../council/ICouncil.sol";

/// @title A council with one flawed rule for its judges. For tests: it can be robbed
contract FlawedJudging is AgentCouncilOracle {
    enum Flaw {
        JudgingAgents, // an info agent can be the judge, and a winner
        PickedBlock, // drawn with the hash of the block before the caller's
        NoTimeout, // a judge that never comes is waited for
        NoOption // a judge is drawn where it can name no answer
    }

    Flaw private immutable flaw;

    constructor(Terms memory terms, ICouncilReputation reputation_, Flaw flaw_) AgentCouncilOracle(terms, reputation_) {
        flaw = flaw_;
    }

    function _requireEligibleJudge(uint256 requestId, Round storage round, bool ofDispute) internal view override {
        if (flaw != Flaw.JudgingAgents) super._requireEligibleJudge(requestId, round, ofDispute);
    }

    function _setRole(uint256 requestId, address judge, uint8 role) internal override {
        uint8 present = roleOf[requestId][judge];
        if (present == 0 || present > MAX_INFO_AGENTS) super._setRole(requestId, judge, role);
    }

    function _fail(uint256 requestId, Round storage round, string memory reason) internal override {
        bool isOption = keccak256(bytes(reason)) == keccak256("no option");
        if (flaw == Flaw.NoOption && isOption) _startDraw(requestId, round);
        else super._fail(requestId, round, reason);
    }

    function _randomnessOf(uint256 seedBlock, bytes calldata header) internal view override returns (bytes32) {
        if (flaw == Flaw.PickedBlock) return blockhash(block.number - 1);
        return super._randomnessOf(seedBlock, header);
    }

    function _replaceJudge(uint256 requestId, Round storage round) internal override {
        if (flaw == Flaw.NoTimeout) revert NothingDue(requestId, round.phase, round.endsAt);
        super._replaceJudge(requestId, round);
    }
}
