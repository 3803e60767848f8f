// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {DataAsCode} from "../callback/DataAsCode.sol";
import {CouncilRules} from "./CouncilRules.sol";
import {ANSWER_BYTES, CouncilStore, REASON_BYTES} from "./CouncilStore.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Outcome, Phase} from "./ICouncil.sol";
import {ICouncilReputation} from "./ICouncilReputation.sol";

/// @title What a council tells of its requests
abstract contract CouncilViews is IAgentCouncilOracle, ICouncil, CouncilStore {
    uint256 public constant MAX_ANSWER_BYTES = ANSWER_BYTES;
    uint256 public constant MAX_REASON_BYTES = REASON_BYTES;

    // ---- The ERC's getters

    /// @inheritdoc IAgentCouncilOracle
    /// @dev `rules` encodes it: this code returns what that returned.
    function getRequest(uint256 requestId) external view returns (Request memory) {
        Round storage round = rounds[requestId];
        bytes memory data = abi.encodeCall(
            CouncilRules.describe,
            (
                [round.requester, round.rewardToken],
                [round.reward, round.bond, round.numInfoAgents, round.deadline],
                DataAsCode.read(round.textAt)
            )
        );
        (bool success, bytes memory returned) = address(_rules).staticcall(data);
        assembly ("memory-safe") {
            if success { return(add(returned, 32), mload(returned)) }
            revert(add(returned, 32), mload(returned))
        }
    }

    /// @inheritdoc IAgentCouncilOracle
    function getCommits(uint256 requestId)
        external
        view
        returns (address[] memory agents, bytes32[] memory commitments)
    {
        InfoAgent[] storage all = agentsOf[requestId];
        (agents, commitments) = (new address[](all.length), new bytes32[](all.length));
        for (uint256 i = 0; i < all.length; i++) (agents[i], commitments[i]) = (all[i].account, all[i].commitment);
    }

    /// @inheritdoc IAgentCouncilOracle
    function getReveals(uint256 requestId) external view returns (address[] memory agents, bytes[] memory answers) {
        InfoAgent[] storage all = agentsOf[requestId];
        uint256 reveals = rounds[requestId].reveals;
        (agents, answers) = (new address[](reveals), new bytes[](reveals));
        uint256 place = 0;
        for (uint256 i = 0; i < all.length; i++) {
            if (!all[i].isRevealed) continue;
            (agents[place], answers[place]) = (all[i].account, DataAsCode.read(all[i].answerAt));
            place++;
        }
    }

    /// @inheritdoc IAgentCouncilOracle
    function getResolution(uint256 requestId) external view returns (bytes memory finalAnswer, bool finalized) {
        Phase phase = _phaseOf(rounds[requestId], requestId);
        finalized = phase == Phase.Resolved || phase == Phase.Distributed;
        finalAnswer = DataAsCode.read(rounds[requestId].answerAt);
    }

    // ---- Ours

    /// @notice Has the terms, and computes what needs no storage.
    function rules() external view returns (CouncilRules) {
        return _rules;
    }

    /// @notice The source of reputation; zero for none.
    function reputation() external view returns (ICouncilReputation) {
        return _reputation;
    }

    /// @inheritdoc ICouncil
    function requestCount() external view returns (uint256) {
        return _requestCount;
    }

    /// @inheritdoc ICouncil
    function claimable(address token, address account) external view returns (uint256) {
        return _claimable[token][account];
    }

    /// @inheritdoc ICouncil
    function phaseOf(uint256 requestId) external view returns (Phase phase, uint256 endsAt) {
        Round storage round = rounds[requestId];
        (phase, endsAt) = (_phaseOf(round, requestId), round.endsAt);
        if (round.phase == Phase.Commit && phase == Phase.Reveal) endsAt += _terms.revealTime;
    }

    /// @inheritdoc ICouncil
    function judgesOf(uint256 requestId, bool ofDispute)
        external
        view
        returns (address[] memory judges, address[] memory candidates)
    {
        Panel storage panel = panels[requestId][ofDispute];
        if (ofDispute) return (disputes[requestId].judges, panel.candidates);
        judges = new address[](panel.judge == address(0) ? 0 : 1);
        if (judges.length == 1) judges[0] = panel.judge;
        return (judges, panel.candidates);
    }

    /// @inheritdoc ICouncil
    function hasJudged(uint256 requestId, address judge) external view returns (bool) {
        return disputes[requestId].verdictOf[judge] != 0;
    }

    /// @inheritdoc ICouncil
    function judgeBondOf(uint256 requestId, bool ofDispute) external view returns (uint256) {
        return _judgeBond(requestId, rounds[requestId], ofDispute);
    }

    /// @inheritdoc ICouncil
    function seedBlockOf(uint256 requestId) external view returns (uint256) {
        Phase phase = rounds[requestId].phase;
        if (phase != Phase.Draw && phase != Phase.DisputeDraw) return 0;
        return panels[requestId][phase == Phase.DisputeDraw].seedBlock;
    }

    /// @inheritdoc ICouncil
    function disputeBondOf(uint256 requestId) external view returns (uint256) {
        return _disputeBond(requestId, rounds[requestId]);
    }

    /// @inheritdoc ICouncil
    function declaredValueOf(uint256 requestId) external view returns (uint256) {
        return rounds[requestId].declared;
    }

    /// @inheritdoc ICouncil
    function paysDirectly(uint256 requestId) external view returns (bool) {
        return rounds[requestId].isDirect;
    }

    /// @inheritdoc ICouncil
    function outcomeOf(uint256 requestId, address account) external view returns (Outcome) {
        Round storage round = rounds[requestId];
        uint8 role = roleOf[requestId][account];
        if (round.phase < Phase.Distributed || role == 0) return Outcome.None;
        if (role <= MAX_INFO_AGENTS) {
            if (!agentsOf[requestId][role - 1].isRevealed) return Outcome.Withheld;
            if (round.phase == Phase.Failed) return Outcome.None;
            return round.winners >> (role - 1) & 1 == 1 ? Outcome.Right : Outcome.Wrong;
        }
        if (role == ABSENT) return Outcome.JudgeAbsent;
        if (role == DRAWN) return round.overturned ? Outcome.JudgeOverturned : Outcome.JudgeUpheld;
        if (role == DISPUTE_WRONG) return Outcome.JudgeOverturned;
        return role == DISPUTE_RIGHT ? Outcome.JudgeUpheld : Outcome.None;
    }

    /// @inheritdoc ICouncil
    function escrowOf(uint256 requestId) external view returns (uint256 ofWei, uint256 ofToken) {
        Round storage round = rounds[requestId];
        ofWei = round.bond * uint256(round.judgeBonds) + round.disputeJudgeBond * uint256(round.disputeJudgeBonds);
        if (round.phase >= Phase.Distributed) return (ofWei, 0);
        ofWei += round.bond * agentsOf[requestId].length + round.forfeited;
        if (round.isDisputeBondHeld) ofWei += round.disputeBond;
        uint256 reward = round.reward - round.paid;
        if (round.rewardToken == address(0)) ofWei += reward;
        else ofToken = reward;
    }
}
