// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {DataAsCode} from "../callback/DataAsCode.sol";
import {CouncilFunds} from "./CouncilFunds.sol";
import {CouncilRules} from "./CouncilRules.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Outcome, Phase, Terms} from "./ICouncil.sol";
import {ICouncilReputation} from "./ICouncilReputation.sol";

/// @title What a council remembers of its requests, and the ERC's getters
abstract contract CouncilStore is IAgentCouncilOracle, CouncilFunds {
    /// @dev A request.
    /// @param endsAt the last second of the phase
    /// @param options of a discrete query; zero for an open one
    /// @param byJudge whether a judge gave the answer
    /// @param judgeBonds how many bonds of judges the oracle holds
    /// @param forfeited wei of lost bonds of judges and disputers
    /// @param paid the part of the reward that was credited before its distribution
    /// @param textAt where query, specifications and capabilities are
    /// @param winners a bit for each info agent
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
        bool isDisputeBondHeld;
        uint8 judgeBonds;
        uint128 reward;
        uint128 bond;
        uint128 forfeited;
        uint128 paid;
        address textAt;
        uint64 winners;
        address answerAt;
        address disputer;
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

    /// @dev The judges of a request, or of its dispute.
    struct Panel {
        address judge;
        uint64 seedBlock;
        uint8 turns;
        address[] candidates;
    }

    uint256 internal constant MAX_INFO_AGENTS = 64; // `winners` has 64 bits
    uint256 public constant MAX_CANDIDATES = 32; // a request's last call credits them all
    uint256 public constant MAX_TURNS = 3; // judges one after the other, so that a request ends
    uint256 public constant MAX_ANSWER_BYTES = 2_048;
    uint256 public constant MAX_REASON_BYTES = 4_096;

    /// @dev Hundredths of a percent in a whole.
    uint256 internal constant WHOLE = 10_000;

    // Roles: 1 to 64 are the places of info agents.
    uint8 internal constant CANDIDATE = 101;
    uint8 internal constant DISPUTE_CANDIDATE = 102;
    uint8 internal constant DRAWN = 103;
    uint8 internal constant DISPUTE_DRAWN = 104;
    uint8 internal constant ABSENT = 105;

    /// @notice Has the terms, and computes what needs no storage.
    CouncilRules public immutable rules;

    /// @notice The source of reputation; zero for none.
    ICouncilReputation public immutable reputation;

    /// @inheritdoc ICouncil
    uint256 public requestCount;

    Terms internal _terms;
    mapping(uint256 requestId => Round) internal rounds;
    mapping(uint256 requestId => InfoAgent[]) internal agentsOf;
    mapping(uint256 requestId => mapping(address account => uint8)) internal roleOf;
    mapping(uint256 requestId => mapping(uint256 option => uint256 weight)) internal votesOf;
    mapping(uint256 requestId => mapping(bool ofDispute => Panel)) internal panels;
    mapping(uint256 requestId => bool) internal isCalled;

    constructor(Terms memory terms, ICouncilReputation reputation_) {
        _terms = terms;
        rules = new CouncilRules(terms);
        reputation = reputation_;
    }

    // ---- The ERC's getters

    /// @inheritdoc IAgentCouncilOracle
    function getRequest(uint256 requestId) external view returns (Request memory request) {
        Round storage round = rounds[requestId];
        request.requester = round.requester;
        request.reward = round.reward;
        request.rewardToken = round.rewardToken;
        request.bondAmount = round.bond;
        request.numInfoAgents = round.numInfoAgents;
        request.deadline = round.deadline;
        if (round.phase == Phase.None) return request;
        (request.query, request.specifications, request.requiredCapabilities) =
            rules.decodeText(DataAsCode.read(round.textAt));
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

    // ---- Views

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
        returns (address judge, address[] memory candidates)
    {
        Panel storage panel = panels[requestId][ofDispute];
        return (panel.judge, panel.candidates);
    }

    /// @inheritdoc ICouncil
    function seedBlockOf(uint256 requestId) external view returns (uint256) {
        Phase phase = rounds[requestId].phase;
        if (phase != Phase.Draw && phase != Phase.DisputeDraw) return 0;
        return panels[requestId][phase == Phase.DisputeDraw].seedBlock;
    }

    /// @inheritdoc ICouncil
    function disputeBondOf(uint256 requestId) external view returns (uint256) {
        return _disputeBond(rounds[requestId]);
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
        return role == DISPUTE_DRAWN ? Outcome.JudgeUpheld : Outcome.None;
    }

    /// @inheritdoc ICouncil
    function escrowOf(uint256 requestId) external view returns (uint256 ofWei, uint256 ofToken) {
        Round storage round = rounds[requestId];
        if (round.phase >= Phase.Distributed) return (0, 0);
        ofWei = round.bond * (agentsOf[requestId].length + round.judgeBonds) + round.forfeited;
        if (round.isDisputeBondHeld) ofWei += _disputeBond(round);
        uint256 reward = round.reward - round.paid;
        if (round.rewardToken == address(0)) ofWei += reward;
        else ofToken = reward;
    }

    // ---- Internal

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
        if (round.phase != phase || block.timestamp > round.endsAt) revert WrongPhase(requestId, round.phase);
    }

    function _enter(Round storage round, Phase phase, uint256 time) internal {
        round.phase = phase;
        round.endsAt = uint64(block.timestamp + time);
    }

    function _disputeBond(Round storage round) internal view returns (uint256) {
        return round.bond * uint256(_terms.disputeBond) / WHOLE;
    }

    function _requireLength(string memory member, uint256 size, uint256 limit) internal view virtual {
        if (size > limit) revert TooLong(member, size, limit);
    }

    /// @dev Refuses a caller with too low a score, or whose identity takes part with another account.
    function _enterIdentity(uint256 requestId, int256 minimum) internal {
        if (address(reputation) == address(0)) return;
        int256 score = reputation.scoreOf(msg.sender);
        if (score < minimum) revert ReputationTooLow(msg.sender, score, minimum);
        reputation.enter(requestId, msg.sender);
    }
}
