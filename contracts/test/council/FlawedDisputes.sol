// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {CouncilStore} from "../../council/CouncilStore.sol";
import {CouncilVerdicts} from "../../council/CouncilVerdicts.sol";
import {ICouncilReputation} from "../../council/ICouncilReputation.sol";
import {Terms} from "../../council/ICouncil.sol";
import {DisputeFlaw, FlawedStakes} from "./FlawedStakes.sol";
import {FlawedVerdicts} from "./FlawedVerdicts.sol";

/// @title A council with one flawed rule for its disputes. For tests: it can be robbed
/// @dev The flaw is set first, as the oracle's constructor deploys the code of verdicts with it.
contract FlawedDisputes is FlawedStakes, AgentCouncilOracle {
    constructor(Terms memory terms, ICouncilReputation reputation_, DisputeFlaw flaw_)
        FlawedStakes(flaw_)
        AgentCouncilOracle(terms, reputation_)
    {}

    function _newVerdicts() internal override returns (CouncilVerdicts) {
        return new FlawedVerdicts(_rules, _reputation, flaw);
    }

    function _requireReputation(Terms memory) internal view override {}

    function _requireEligibleJudge(uint256 requestId, Round storage round, bool ofDispute) internal view override {
        super._requireEligibleJudge(requestId, round, ofDispute);
        require(flaw != DisputeFlaw.FewPlaces || panels[requestId][ofDispute].candidates.length < 32);
    }

    function _panelSize() internal view override(CouncilStore, FlawedStakes) returns (uint256) {
        return FlawedStakes._panelSize();
    }

    function _movedBy(uint256 requestId, Round storage round)
        internal
        view
        override(CouncilStore, FlawedStakes)
        returns (uint256)
    {
        return FlawedStakes._movedBy(requestId, round);
    }
}
