// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {DataAsCode} from "../callback/DataAsCode.sol";
import {CouncilFunds} from "./CouncilFunds.sol";
import {CouncilRules} from "./CouncilRules.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Phase, Terms} from "./ICouncil.sol";
import {ICouncilReputation} from "./ICouncilReputation.sol";

uint256 constant ANSWER_BYTES = 2_048;
uint256 constant REASON_BYTES = 4_096;

/// @title What a council remembers of its requests
/// @dev All storage of the oracle is here: `CouncilVerdicts`, which it calls as its own code, has the same.
abstract contract CouncilStore is CouncilFunds {
    /// @dev A request.
    /// @param endsAt the last second of the phase
    /// @param options of a discrete query; zero for an open one
    /// @param byJudge whether a judge gave the answer
    /// @param isDirect whether shares are sent when they are due
    /// @param forfeited wei of lost bonds of judges and disputers
    /// @param paid the part of the reward that was credited before its distribution
    /// @param textAt where query, specifications and capabilities are
    /// @param winners a bit for each info agent
    /// @param judgeBonds how many bonds of judges the oracle holds; those of the dispute's judges are counted apart
    /// @param declared wei that depend on the answer beside reward and bonds
    /// @param seed exclusive or of the hashes of revealed nonces; after a draw, what was drawn with
    struct Round {
        address requester;
        uint64 endsAt;
        Phase phase;
        uint8 numInfoAgents;
        uint8 reveals;
        uint8 options;
        address rewardToken;
        uint64 deadline;
        bool byJudge;
        bool overturned;
        bool isDirect;
        bool isDisputeBondHeld;
        uint128 reward;
        uint128 bond;
        uint128 forfeited;
        uint128 paid;
        address textAt;
        uint64 winners;
        uint32 judgeBonds;
        address answerAt;
        uint96 declared;
        address disputer;
        uint32 disputeJudgeBonds;
        uint128 disputeBond;
        uint128 disputeJudgeBond;
        bytes32 seed;
    }

    /// @dev An info agent of a request. Empty answers are kept as none, so `isRevealed` tells them.
    struct InfoAgent {
        address account;
        uint32 weight;
        bool isRevealed;
        uint8 option;
        bytes32 commitment;
        address answerAt;
    }

    /// @dev Who registered to judge a request, or its dispute, and was not drawn; and who judges the request.
    struct Panel {
        address judge;
        uint64 seedBlock;
        uint8 turns;
        address[] candidates;
    }

    /// @dev The judges of a dispute and what they decided. A verdict is a hash of answer and winners, or `UPHELD`.
    /// @param decided the verdict of more than half of them; zero for none
    /// @param answerAt the answer of that verdict, if it overturns
    struct Dispute {
        address[] judges;
        uint8 verdicts;
        uint64 winners;
        address answerAt;
        bytes32 decided;
        mapping(address judge => bytes32) verdictOf;
        mapping(bytes32 verdict => uint256) votesFor;
    }

    uint256 internal constant MAX_INFO_AGENTS = 64; // `winners` has 64 bits

    /// @dev Hundredths of a percent in a whole.
    uint256 internal constant WHOLE = 10_000;

    // Roles: 1 to 64 are the places of info agents.
    uint8 internal constant CANDIDATE = 101;
    uint8 internal constant DISPUTE_CANDIDATE = 102;
    uint8 internal constant DRAWN = 103;
    uint8 internal constant DISPUTE_DRAWN = 104;
    uint8 internal constant ABSENT = 105;
    uint8 internal constant DISPUTE_RIGHT = 106;
    uint8 internal constant DISPUTE_WRONG = 107;

    CouncilRules internal immutable _rules;
    ICouncilReputation internal immutable _reputation;

    uint256 internal _requestCount;
    Terms internal _terms;
    mapping(uint256 requestId => Round) internal rounds;
    mapping(uint256 requestId => InfoAgent[]) internal agentsOf;
    mapping(uint256 requestId => mapping(address account => uint8)) internal roleOf;
    mapping(uint256 requestId => mapping(uint256 option => uint256 weight)) internal votesOf;
    mapping(uint256 requestId => mapping(bool ofDispute => Panel)) internal panels;
    mapping(uint256 requestId => Dispute) internal disputes;
    mapping(uint256 requestId => bool) internal isCalled;
    mapping(uint256 requestId => mapping(bytes32 commitment => bool)) internal isPlainCommitment;

    constructor(CouncilRules rules_, ICouncilReputation reputation_) {
        (_rules, _reputation) = (rules_, reputation_);
    }

    // ---- Phases

    /// @dev The phase that the time makes of the stored one.
    function _phaseOf(Round storage round, uint256 requestId) internal view returns (Phase phase) {
        phase = round.phase;
        if (block.timestamp <= round.endsAt) return phase;
        if (phase == Phase.Commit && agentsOf[requestId].length > 0) return Phase.Reveal;
        if (phase == Phase.Window) return Phase.Resolved;
    }

    /// @dev Stores the phase that the time makes. Answers can be revealed from then on without another call.
    function _sync(uint256 requestId) internal returns (Round storage round) {
        round = rounds[requestId];
        Phase phase = _phaseOf(round, requestId);
        if (phase == round.phase) return round;
        if (phase == Phase.Reveal) round.endsAt += _terms.revealTime;
        round.phase = phase;
    }

    /// @dev Returns a request that is in a phase whose time is not over.
    function _requirePhase(uint256 requestId, Phase phase) internal returns (Round storage round) {
        round = _sync(requestId);
        if (round.phase != phase || block.timestamp > round.endsAt) revert ICouncil.WrongPhase(requestId, round.phase);
    }

    function _enter(Round storage round, Phase phase, uint256 time) internal {
        round.phase = phase;
        round.endsAt = uint64(block.timestamp + time);
    }

    function _requireLength(string memory member, uint256 size, uint256 limit) internal view virtual {
        if (size > limit) revert ICouncil.TooLong(member, size, limit);
    }

    // ---- Stakes

    /// @dev What a dispute's bond has to be: what overturning the answer moves, at least.
    function _disputeBond(uint256 requestId, Round storage round) internal view returns (uint256) {
        if (round.disputeBond > 0) return round.disputeBond; // as it was when somebody disputed
        uint256 moved = _movedBy(requestId, round);
        uint256 ofTerms = round.bond * uint256(_terms.disputeBond) / WHOLE;
        return moved > ofTerms ? moved : ofTerms;
    }

    /// @dev The wei that overturning an answer moves.
    function _movedBy(uint256 requestId, Round storage round) internal view virtual returns (uint256) {
        uint256 ofReward = round.rewardToken == address(0) ? round.reward : 0;
        uint256 bonds = round.bond * (agentsOf[requestId].length + (round.byJudge ? 1 : 0)) + round.forfeited;
        return ofReward + bonds + round.declared;
    }

    /// @dev A judge's bond. Those who can overturn together put up what the disputer does.
    function _judgeBond(uint256 requestId, Round storage round, bool ofDispute) internal view returns (uint256) {
        if (!ofDispute) return round.bond;
        if (round.disputeBond > 0) return round.disputeJudgeBond;
        uint256 majority = _panelSize() / 2 + 1;
        uint256 part = (_disputeBond(requestId, round) + majority - 1) / majority;
        return part > round.bond ? part : round.bond;
    }

    function _panelSize() internal view virtual returns (uint256) {
        return _terms.disputeJudges;
    }

    // ---- Judges

    /// @dev Draws one of the candidates, at the same cost whatever their number.
    function _drawOne(uint256 requestId, Round storage round, bool ofDispute) internal returns (address judge) {
        Panel storage panel = panels[requestId][ofDispute];
        address[] storage candidates = panel.candidates;
        uint256 place = uint256(keccak256(abi.encode(round.seed, panel.turns++))) % candidates.length;
        judge = candidates[place];
        candidates[place] = candidates[candidates.length - 1];
        candidates.pop();
        _setRole(requestId, judge, ofDispute ? DISPUTE_DRAWN : DRAWN);
        emit IAgentCouncilOracle.JudgeSelected(requestId, judge);
    }

    /// @dev Gives a candidate its bond back. It stays in the list of candidates, which no draw reads any more.
    function _release(uint256 requestId, Round storage round, address account) internal {
        bool ofDispute = roleOf[requestId][account] == DISPUTE_CANDIDATE;
        roleOf[requestId][account] = 0;
        if (ofDispute) round.disputeJudgeBonds--;
        else round.judgeBonds--;
        _credit(address(0), account, ofDispute ? round.disputeJudgeBond : round.bond);
    }

    function _setRole(uint256 requestId, address judge, uint8 role) internal virtual {
        roleOf[requestId][judge] = role;
    }

    /// @dev The block is fixed before anybody knows its PREVRANDAO, so no caller can choose.
    function _awaitBlock(uint256 requestId, Round storage round, bool ofDispute) internal {
        Panel storage panel = panels[requestId][ofDispute];
        panel.seedBlock = uint64(block.number + _terms.seedDelay);
        _enter(round, ofDispute ? Phase.DisputeDraw : Phase.Draw, _terms.drawTime);
        emit ICouncil.SeedBlockSet(requestId, panel.seedBlock);
    }

    function _mixSeed(uint256 requestId, Round storage round, bool ofDispute, bytes calldata header) internal {
        bytes32 randomness = _randomnessOf(panels[requestId][ofDispute].seedBlock, header);
        round.seed = keccak256(abi.encode(round.seed, randomness));
    }

    function _randomnessOf(uint256 seedBlock, bytes calldata header) internal view virtual returns (bytes32) {
        return _rules.readRandomness(seedBlock, header);
    }

    // ---- Answers

    /// @dev Keeps the answer and opens the window for disputes, if what undoing the answer moves is known.
    function _resolve(uint256 requestId, Round storage round, bytes memory answer) internal {
        round.answerAt = DataAsCode.write(answer);
        emit IAgentCouncilOracle.ResolutionFinalized(requestId, answer);
        bool isPriced = round.rewardToken == address(0) || round.declared > 0;
        if (_terms.disputeWindow == 0 || !isPriced) return _enter(round, Phase.Resolved, 0);
        _enter(round, Phase.Window, _terms.disputeWindow);
        emit IAgentCouncilOracle.DisputeWindowOpened(requestId, round.endsAt);
    }

    function _votersOf(uint256 requestId, uint256 option) internal view returns (uint64 voters) {
        InfoAgent[] storage agents = agentsOf[requestId];
        for (uint256 i = 0; i < agents.length; i++) {
            if (agents[i].isRevealed && agents[i].option == option) voters |= uint64(1 << i);
        }
    }

    /// @dev The judge's fee of a request whose answer a judge gave, or judges overturned.
    function _judgeFee(Round storage round) internal view returns (uint256) {
        return uint256(round.reward) * _terms.judgeFee / WHOLE;
    }
}
