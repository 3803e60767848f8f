// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {CouncilRules} from "../../council/CouncilRules.sol";
import {CouncilStore} from "../../council/CouncilStore.sol";
import {CouncilVerdicts} from "../../council/CouncilVerdicts.sol";
import {IAgentCouncilOracle} from "../../council/IAgentCouncilOracle.sol";
import {ICouncilReputation} from "../../council/ICouncilReputation.sol";
import {Phase} from "../../council/ICouncil.sol";
import {DisputeFlaw, FlawedStakes} from "./FlawedStakes.sol";

/// @title The code of verdicts with a flawed rule
contract FlawedVerdicts is CouncilVerdicts, FlawedStakes {
    constructor(CouncilRules rules_, ICouncilReputation reputation_, DisputeFlaw flaw_)
        CouncilVerdicts(rules_, reputation_)
        FlawedStakes(flaw_)
    {}

    function aggregate(
        uint256 requestId,
        bytes calldata answer,
        address[] calldata winners,
        bytes calldata reasoning
    ) public override {
        if (flaw != DisputeFlaw.DuplicateWinners) return super.aggregate(requestId, answer, winners, reasoning);
        Round storage round = rounds[requestId];
        require(msg.sender == panels[requestId][false].judge);
        round.phase = Phase.Distributed;
        for (uint256 i = 0; i < winners.length; i++) {
            require(roleOf[requestId][winners[i]] <= MAX_INFO_AGENTS);
            _credit(address(0), winners[i], round.reward / winners.length + round.bond);
        }
        emit IAgentCouncilOracle.ResolutionFinalized(requestId, answer);
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
