// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {DataAsCode} from "../callback/DataAsCode.sol";
import {CouncilSubmissions} from "./CouncilSubmissions.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Phase} from "./ICouncil.sol";

/// @title Votes and judges of a council
abstract contract CouncilJudging is CouncilSubmissions {
    // ---- Judges

    /// @inheritdoc ICouncil
    function registerJudge(uint256 requestId) external payable nonReentrant {
        Round storage round = _sync(requestId);
        bool ofDispute = round.phase == Phase.DisputeRegistration;
        bool isOpen = ofDispute || round.phase == Phase.Commit || round.phase == Phase.Reveal;
        if (!isOpen || block.timestamp > round.endsAt) revert WrongPhase(requestId, round.phase);
        _requireValue(round.bond);
        _requireEligibleJudge(requestId, round, ofDispute);
        _enterIdentity(requestId, ofDispute ? _terms.minDisputeJudgeReputation : _terms.minJudgeReputation);
        address[] storage candidates = panels[requestId][ofDispute].candidates;
        if (candidates.length == MAX_CANDIDATES) revert TooManyJudges(requestId, MAX_CANDIDATES);
        candidates.push(msg.sender);
        round.judgeBonds++;
        _setRole(requestId, msg.sender, ofDispute ? DISPUTE_CANDIDATE : CANDIDATE);
        emit JudgeRegistered(requestId, msg.sender);
    }

    /// @inheritdoc ICouncil
    function selectJudge(uint256 requestId, bytes calldata header) external nonReentrant {
        Round storage round = rounds[requestId];
        bool ofDispute = round.phase == Phase.DisputeDraw;
        if (!ofDispute && round.phase != Phase.Draw) revert WrongPhase(requestId, round.phase);
        bytes32 randomness = _randomnessOf(panels[requestId][ofDispute].seedBlock, header);
        round.seed = keccak256(abi.encode(round.seed, randomness));
        _draw(requestId, round, ofDispute);
    }

    /// @inheritdoc IAgentCouncilOracle
    function aggregate(
        uint256 requestId,
        bytes calldata finalAnswer,
        address[] calldata winners,
        bytes calldata reasoning
    ) external virtual nonReentrant {
        Round storage round = _requirePhase(requestId, Phase.Judge);
        if (msg.sender != panels[requestId][false].judge) revert NotJudge(requestId, msg.sender);
        if (reasoning.length == 0) revert ReasoningMissing();
        _requireLength("reasoning", reasoning.length, MAX_REASON_BYTES);
        round.winners = _winnersOf(requestId, round, finalAnswer, winners);
        round.byJudge = true;
        emit JudgeReasoned(requestId, msg.sender, reasoning);
        _resolve(requestId, round, finalAnswer);
    }

    // ---- Internal

    function _closeReveals(uint256 requestId, Round storage round) internal override {
        if (uint256(round.reveals) * 2 <= round.numInfoAgents) return _fail(requestId, round, "no quorum");
        (uint256 option, uint256 most) = _majorityOf(requestId, round);
        if (round.options > 0 && most == 0) return _fail(requestId, round, "no option"); // no judge could name one
        if (option > 0) {
            round.winners = _votersOf(requestId, option);
            return _resolve(requestId, round, rules.optionAt(DataAsCode.read(round.textAt), option));
        }
        _startDraw(requestId, round, false);
    }

    /// @dev Info agents, the requester and the disputer can't judge; nor can a judge its own answer.
    function _requireEligibleJudge(uint256 requestId, Round storage round, bool ofDispute) internal view virtual {
        uint8 role = roleOf[requestId][msg.sender];
        bool isFree = role == 0 || (ofDispute && role == CANDIDATE);
        if (!isFree || msg.sender == round.requester || msg.sender == round.disputer) {
            revert NotEligible(requestId, msg.sender);
        }
    }

    function _setRole(uint256 requestId, address judge, uint8 role) internal virtual {
        roleOf[requestId][judge] = role;
    }

    /// @dev The block is fixed before anybody knows its PREVRANDAO, so no caller can choose.
    function _startDraw(uint256 requestId, Round storage round, bool ofDispute) internal {
        Panel storage panel = panels[requestId][ofDispute];
        if (panel.candidates.length == 0) return _endWithoutJudge(requestId, round, ofDispute);
        if (_terms.deterministic) {
            round.seed = keccak256(abi.encode(round.seed));
            return _draw(requestId, round, ofDispute);
        }
        panel.seedBlock = uint64(block.number + _terms.seedDelay);
        _enter(round, ofDispute ? Phase.DisputeDraw : Phase.Draw, _terms.drawTime);
        emit SeedBlockSet(requestId, panel.seedBlock);
    }

    function _randomnessOf(uint256 seedBlock, bytes calldata header) internal view virtual returns (bytes32) {
        return rules.readRandomness(seedBlock, header);
    }

    function _draw(uint256 requestId, Round storage round, bool ofDispute) internal {
        Panel storage panel = panels[requestId][ofDispute];
        address[] storage candidates = panel.candidates;
        uint256 place = uint256(keccak256(abi.encode(round.seed, panel.turns++))) % candidates.length;
        address judge = candidates[place];
        candidates[place] = candidates[candidates.length - 1];
        candidates.pop();
        panel.judge = judge;
        _setRole(requestId, judge, ofDispute ? DISPUTE_DRAWN : DRAWN);
        _enter(round, ofDispute ? Phase.DisputeJudge : Phase.Judge, _terms.judgeTime);
        emit JudgeSelected(requestId, judge);
    }

    /// @dev Goes on with the next candidate, or without one.
    function _replaceJudge(uint256 requestId, Round storage round, bool ofDispute) internal virtual {
        Panel storage panel = panels[requestId][ofDispute];
        emit JudgeAbsent(requestId, panel.judge);
        roleOf[requestId][panel.judge] = ABSENT;
        panel.judge = address(0);
        round.judgeBonds--;
        round.forfeited += round.bond;
        if (panel.turns == MAX_TURNS || panel.candidates.length == 0) {
            return _endWithoutJudge(requestId, round, ofDispute);
        }
        _draw(requestId, round, ofDispute);
    }

    /// @dev Gives the bonds of all back who were not drawn.
    function _releaseCandidates(uint256 requestId, Round storage round, bool ofDispute) internal {
        address[] storage candidates = panels[requestId][ofDispute].candidates;
        uint256 count = candidates.length;
        for (uint256 i = 0; i < count; i++) _credit(address(0), candidates[i], round.bond);
        round.judgeBonds -= uint8(count);
        delete panels[requestId][ofDispute].candidates;
    }

    /// @dev Returns the winners as bits. They must have revealed, and be named once; of a discrete query they are all who
    ///   voted for the answer.
    function _winnersOf(uint256 requestId, Round storage round, bytes calldata answer, address[] calldata winners)
        internal
        view
        returns (uint64 found)
    {
        _requireLength("answer", answer.length, MAX_ANSWER_BYTES);
        for (uint256 i = 0; i < winners.length; i++) found |= _bitOfWinner(requestId, winners[i], found);
        if (found == 0) revert WrongWinners(requestId);
        if (round.options == 0) return found;
        uint8 option = rules.findOption(DataAsCode.read(round.textAt), answer);
        if (option == 0 || found != _votersOf(requestId, option)) revert WrongWinners(requestId);
    }

    function _bitOfWinner(uint256 requestId, address winner, uint64 found) internal view virtual returns (uint64 bit) {
        uint256 place = roleOf[requestId][winner];
        if (place == 0 || place > MAX_INFO_AGENTS) revert WrongWinner(requestId, winner);
        bit = uint64(1 << (place - 1));
        if (found & bit != 0 || !agentsOf[requestId][place - 1].isRevealed) revert WrongWinner(requestId, winner);
    }

    /// @dev Keeps the answer and opens the window for disputes.
    function _resolve(uint256 requestId, Round storage round, bytes memory answer) internal {
        round.answerAt = DataAsCode.write(answer);
        _releaseCandidates(requestId, round, false);
        emit ResolutionFinalized(requestId, answer);
        if (_terms.disputeWindow == 0) return _enter(round, Phase.Resolved, 0);
        _enter(round, Phase.Window, _terms.disputeWindow);
        emit DisputeWindowOpened(requestId, round.endsAt);
    }

    /// @dev Ends a request, or its dispute, that no judge decides.
    function _endWithoutJudge(uint256 requestId, Round storage round, bool ofDispute) internal virtual;

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

    function _votersOf(uint256 requestId, uint256 option) private view returns (uint64 voters) {
        InfoAgent[] storage agents = agentsOf[requestId];
        for (uint256 i = 0; i < agents.length; i++) {
            if (agents[i].isRevealed && agents[i].option == option) voters |= uint64(1 << i);
        }
    }
}
