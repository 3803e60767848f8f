// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {DataAsCode} from "../callback/DataAsCode.sol";
import {CouncilSubmissions} from "./CouncilSubmissions.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Phase} from "./ICouncil.sol";

/// @title Votes and judges of a council
abstract contract CouncilJudging is CouncilSubmissions {
    uint256 public constant MAX_TURNS = 3; // judges one after the other, so that a request ends

    // ---- Judges

    /// @inheritdoc ICouncil
    function registerJudge(uint256 requestId) external payable virtual nonReentrant {
        Round storage round = _sync(requestId);
        bool ofDispute = round.phase == Phase.DisputeRegistration;
        bool isOpen = ofDispute || round.phase == Phase.Commit || round.phase == Phase.Reveal;
        if (!isOpen || block.timestamp > round.endsAt) revert WrongPhase(requestId, round.phase);
        _requireValue(_judgeBond(requestId, round, ofDispute));
        _requireEligibleJudge(requestId, round, ofDispute);
        _enterIdentity(requestId, ofDispute ? _terms.minDisputeJudgeReputation : _terms.minJudgeReputation);
        if (roleOf[requestId][msg.sender] == CANDIDATE) _release(requestId, round, msg.sender);
        panels[requestId][ofDispute].candidates.push(msg.sender);
        if (ofDispute) round.disputeJudgeBonds++;
        else round.judgeBonds++;
        _setRole(requestId, msg.sender, ofDispute ? DISPUTE_CANDIDATE : CANDIDATE);
        emit JudgeRegistered(requestId, msg.sender);
    }

    /// @inheritdoc ICouncil
    function releaseJudge(uint256, address) external nonReentrant {
        _callVerdicts();
    }

    /// @inheritdoc ICouncil
    function selectJudge(uint256 requestId, bytes calldata header) external nonReentrant {
        Round storage round = rounds[requestId];
        if (round.phase == Phase.DisputeDraw) return _callVerdicts();
        if (round.phase != Phase.Draw) revert WrongPhase(requestId, round.phase);
        _mixSeed(requestId, round, false, header);
        _draw(requestId, round);
    }

    // ---- Verdicts

    /// @inheritdoc IAgentCouncilOracle
    function aggregate(uint256, bytes calldata, address[] calldata, bytes calldata) external virtual nonReentrant {
        _callVerdicts();
    }

    /// @inheritdoc IAgentCouncilOracle
    function initiateDispute(uint256, string calldata) external payable nonReentrant {
        _callVerdicts();
    }

    /// @inheritdoc IAgentCouncilOracle
    function resolveDispute(uint256, bool, bytes calldata, address[] calldata) external nonReentrant {
        _callVerdicts();
    }

    // ---- Internal

    /// @dev Does what this call asks by the code of `CouncilVerdicts`, which reads and writes this contract's storage.
    function _callVerdicts() internal virtual;

    function _closeReveals(uint256 requestId, Round storage round) internal override {
        if (uint256(round.reveals) * 2 <= round.numInfoAgents) return _fail(requestId, round, "no quorum");
        (uint256 option, uint256 most) = _majorityOf(requestId, round);
        if (round.options > 0 && most == 0) return _fail(requestId, round, "no option"); // no judge could name one
        if (option > 0) {
            round.winners = _votersOf(requestId, option);
            return _resolve(requestId, round, _rules.optionAt(DataAsCode.read(round.textAt), option));
        }
        _startDraw(requestId, round);
    }

    /// @dev Info agents, the requester and the disputer can't judge; nor can a judge its own answer.
    function _requireEligibleJudge(uint256 requestId, Round storage round, bool ofDispute) internal view virtual {
        uint8 role = roleOf[requestId][msg.sender];
        bool isFree = role == 0 || (ofDispute && role == CANDIDATE);
        if (!isFree || msg.sender == round.requester || msg.sender == round.disputer) {
            revert NotEligible(requestId, msg.sender);
        }
    }

    function _startDraw(uint256 requestId, Round storage round) internal {
        if (panels[requestId][false].candidates.length == 0) return _fail(requestId, round, "no judge");
        if (!_terms.deterministic) return _awaitBlock(requestId, round, false);
        round.seed = keccak256(abi.encode(round.seed));
        _draw(requestId, round);
    }

    function _draw(uint256 requestId, Round storage round) internal {
        panels[requestId][false].judge = _drawOne(requestId, round, false);
        _enter(round, Phase.Judge, _terms.judgeTime);
    }

    /// @dev Goes on with the next candidate, or without one.
    function _replaceJudge(uint256 requestId, Round storage round) internal virtual {
        Panel storage panel = panels[requestId][false];
        emit JudgeAbsent(requestId, panel.judge);
        roleOf[requestId][panel.judge] = ABSENT;
        panel.judge = address(0);
        round.judgeBonds--;
        round.forfeited += round.bond;
        if (panel.turns == MAX_TURNS || panel.candidates.length == 0) return _fail(requestId, round, "no judge");
        _draw(requestId, round);
    }

    /// @dev Ends a request without an answer; everything goes back.
    function _fail(uint256 requestId, Round storage round, string memory reason) internal virtual;

    // ---- Private

    /// @return best the option with more than half of the weight that revealed; zero if there is none
    /// @return most the weight of the option with the most
    function _majorityOf(uint256 requestId, Round storage round) private view returns (uint256 best, uint256 most) {
        uint256 total = 0;
        for (uint256 option = 0; option <= round.options; option++) {
            uint256 votes = votesOf[requestId][option];
            total += votes;
            if (option > 0 && votes > most) (best, most) = (option, votes);
        }
        if (most * 2 <= total) best = 0;
    }
}
