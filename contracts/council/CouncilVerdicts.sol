// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {DataAsCode} from "../callback/DataAsCode.sol";
import {CouncilRules} from "./CouncilRules.sol";
import {ANSWER_BYTES, CouncilStore, REASON_BYTES} from "./CouncilStore.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Phase} from "./ICouncil.sol";
import {ICouncilReputation} from "./ICouncilReputation.sol";

/// @title What judges decide: a request, or its dispute, which is the ERC's optional extension; and payments nobody asks for
/// @notice A request has one dispute at most, and nothing is paid out before it ends. A panel of `disputeJudges` decides it,
///   by more than half of the panel for the same answer and the same winners.
///   - Upheld: of the disputer's bond those judges get `judgeReimbursement`; the winners and the requester share the rest.
///   - Overturned: the disputer gets its bond back and `disputerReimbursement` of the first judge's fee. Those judges get
///     the rest of that fee and `judgeReimbursement` of the first judge's bond; the winners get the rest of that bond.
///   - Undecided, as too few registered or they disagree: the answer stands, and the disputer gets its bond back.
///   Judges who decided otherwise lose their bonds to those who decided; absent judges lose theirs too, to the winners
///   where nothing was decided.
/// @dev The oracle calls it as its own code (`delegatecall`, in its guard), as one contract has at most 24,576 bytes
///   (EIP-170). Called by anybody else it finds no requests, and reverts.
contract CouncilVerdicts is CouncilStore {
    bytes32 private constant UPHELD = bytes32(uint256(1));

    constructor(CouncilRules rules_, ICouncilReputation reputation_) CouncilStore(rules_, reputation_) {}

    /// @notice As `ICouncil.releaseJudge`. A request's candidates are drawn again where a judge is absent, a dispute's once.
    function releaseJudge(uint256 requestId, address account) external {
        Round storage round = _sync(requestId);
        uint8 role = roleOf[requestId][account];
        bool isFree = role == CANDIDATE && round.phase > Phase.Judge
            || role == DISPUTE_CANDIDATE && round.phase >= Phase.DisputeJudge;
        if (!isFree) revert ICouncil.NothingToRelease(requestId, account);
        _release(requestId, round, account);
        if (round.isDirect) _trySend(address(0), account);
    }

    /// @notice As `IAgentCouncilOracle.aggregate`.
    function aggregate(
        uint256 requestId,
        bytes calldata finalAnswer,
        address[] calldata winners,
        bytes calldata reasoning
    ) public virtual {
        Round storage round = _requirePhase(requestId, Phase.Judge);
        if (msg.sender != panels[requestId][false].judge) revert ICouncil.NotJudge(requestId, msg.sender);
        if (reasoning.length == 0) revert ICouncil.ReasoningMissing();
        _requireLength("reasoning", reasoning.length, REASON_BYTES);
        round.winners = _winnersOf(requestId, round, finalAnswer, winners);
        round.byJudge = true;
        emit ICouncil.JudgeReasoned(requestId, msg.sender, reasoning);
        _resolve(requestId, round, finalAnswer);
    }

    /// @notice As `IAgentCouncilOracle.initiateDispute`.
    function initiateDispute(uint256 requestId, string calldata reason) external payable {
        Round storage round = _requirePhase(requestId, Phase.Window);
        uint256 bond = _disputeBond(requestId, round);
        _requireValue(bond);
        _requireLength("reason", bytes(reason).length, REASON_BYTES);
        round.disputer = msg.sender;
        round.disputeJudgeBond = uint128(_judgeBond(requestId, round, true));
        round.disputeBond = uint128(bond);
        round.isDisputeBondHeld = true;
        _enter(round, Phase.DisputeRegistration, _terms.disputeRegistrationTime);
        emit IAgentCouncilOracle.DisputeInitiated(requestId, msg.sender, reason);
    }

    /// @notice As `ICouncil.selectJudge`, of a dispute.
    function selectJudge(uint256 requestId, bytes calldata header) external {
        Round storage round = rounds[requestId];
        if (round.phase != Phase.DisputeDraw) revert ICouncil.WrongPhase(requestId, round.phase);
        _mixSeed(requestId, round, true, header);
        _drawPanel(requestId, round);
    }

    /// @notice As `IAgentCouncilOracle.resolveDispute`: one judge's verdict. The last ends the dispute.
    function resolveDispute(
        uint256 requestId,
        bool overturn,
        bytes calldata newAnswer,
        address[] calldata newWinners
    ) external {
        Round storage round = _requirePhase(requestId, Phase.DisputeJudge);
        Dispute storage dispute = disputes[requestId];
        if (roleOf[requestId][msg.sender] != DISPUTE_DRAWN || dispute.verdictOf[msg.sender] != 0) {
            revert ICouncil.NotJudge(requestId, msg.sender);
        }
        (bytes32 verdict, uint64 winners) = (UPHELD, 0);
        if (overturn) {
            winners = _winnersOf(requestId, round, newAnswer, newWinners);
            bool isSame = keccak256(newAnswer) == keccak256(DataAsCode.read(round.answerAt));
            if (isSame && winners == round.winners) revert ICouncil.NothingOverturned(requestId);
            verdict = keccak256(abi.encode(winners, newAnswer));
        }
        dispute.verdictOf[msg.sender] = verdict;
        if (++dispute.votesFor[verdict] == dispute.judges.length / 2 + 1) {
            dispute.decided = verdict;
            if (overturn) (dispute.winners, dispute.answerAt) = (winners, DataAsCode.write(newAnswer));
        }
        emit ICouncil.DisputeJudged(requestId, msg.sender, overturn, newAnswer);
        if (++dispute.verdicts == dispute.judges.length) _end(requestId, round);
    }

    /// @notice As `ICouncil.advance`, of a dispute whose phase is over.
    function advance(uint256 requestId) external {
        Round storage round = rounds[requestId];
        if (round.phase < Phase.DisputeRegistration) revert ICouncil.WrongPhase(requestId, round.phase);
        bool isComplete = panels[requestId][true].candidates.length >= _panelSize();
        if (round.phase != Phase.DisputeRegistration || !isComplete) return _end(requestId, round);
        if (!_terms.deterministic) return _awaitBlock(requestId, round, true);
        round.seed = keccak256(abi.encode(round.seed));
        _drawPanel(requestId, round);
    }

    /// @notice Sends what was credited to all who took part in a request. Bonds of candidates go by `releaseJudge`.
    function sendShares(uint256 requestId) external {
        Round storage round = rounds[requestId];
        InfoAgent[] storage agents = agentsOf[requestId];
        for (uint256 i = 0; i < agents.length; i++) _sendShare(round, agents[i].account);
        address[] storage judges = disputes[requestId].judges;
        for (uint256 i = 0; i < judges.length; i++) _sendShare(round, judges[i]);
        _sendShare(round, panels[requestId][false].judge);
        _sendShare(round, round.disputer);
        _sendShare(round, round.requester);
    }

    function _sendShare(Round storage round, address account) private {
        _trySend(address(0), account);
        if (round.rewardToken != address(0)) _trySend(round.rewardToken, account);
    }

    function _drawPanel(uint256 requestId, Round storage round) private {
        address[] storage judges = disputes[requestId].judges;
        for (uint256 i = _panelSize(); i > 0; i--) judges.push(_drawOne(requestId, round, true));
        _enter(round, Phase.DisputeJudge, _terms.judgeTime);
    }

    function _end(uint256 requestId, Round storage round) private {
        Dispute storage dispute = disputes[requestId];
        (address[] memory right, uint256 lost) = _settleJudges(requestId, round, dispute);
        round.isDisputeBondHeld = false;
        if (dispute.decided == 0) {
            _credit(address(0), round.disputer, round.disputeBond);
            round.forfeited += uint128(lost);
        } else if (dispute.decided == UPHELD) {
            _uphold(round, right, lost);
        } else {
            _overturn(round, right, lost);
            (round.winners, round.answerAt) = (dispute.winners, dispute.answerAt);
        }
        _enter(round, Phase.Resolved, 0);
        emit IAgentCouncilOracle.DisputeResolved(requestId, round.overturned, DataAsCode.read(round.answerAt));
    }

    /// @dev Gives their bonds back to the judges who decided as the panel did, or at all where it did not.
    /// @return right who decided as the panel did
    /// @return lost wei of the others' bonds
    function _settleJudges(uint256 requestId, Round storage round, Dispute storage dispute)
        private
        returns (address[] memory right, uint256 lost)
    {
        address[] storage judges = dispute.judges;
        right = new address[](judges.length);
        (uint256 count, uint256 bond, bytes32 decided) = (0, round.disputeJudgeBond, dispute.decided);
        round.disputeJudgeBonds -= uint32(judges.length);
        for (uint256 i = judges.length; i > 0; i--) {
            address judge = judges[i - 1];
            bytes32 verdict = dispute.verdictOf[judge];
            if (verdict == 0 || (decided != 0 && verdict != decided)) lost += bond;
            else _credit(address(0), judge, bond);
            if (verdict == 0) {
                roleOf[requestId][judge] = ABSENT;
                judges[i - 1] = judges[judges.length - 1];
                judges.pop();
                emit ICouncil.JudgeAbsent(requestId, judge);
            } else if (decided != 0) {
                roleOf[requestId][judge] = verdict == decided ? DISPUTE_RIGHT : DISPUTE_WRONG;
                if (verdict == decided) right[count++] = judge;
            }
        }
        assembly ("memory-safe") {
            mstore(right, count)
        }
    }

    function _uphold(Round storage round, address[] memory judges, uint256 lost) private {
        uint256 bond = round.disputeBond;
        uint256 ofJudges = bond * _terms.judgeReimbursement / WHOLE;
        uint256 ofRequester = (bond - ofJudges) / 2;
        _credit(address(0), round.requester, ofRequester);
        uint256 shared = _share(address(0), judges, ofJudges + lost);
        round.forfeited += uint128(bond + lost - ofRequester - shared);
    }

    function _overturn(Round storage round, address[] memory judges, uint256 lost) private {
        round.overturned = true;
        uint256 fee = _judgeFee(round);
        uint256 ofDisputer = fee * _terms.disputerReimbursement / WHOLE;
        _credit(address(0), round.disputer, round.disputeBond);
        _credit(round.rewardToken, round.disputer, ofDisputer);
        round.paid = uint128(ofDisputer + _share(round.rewardToken, judges, fee - ofDisputer));
        uint256 ofJudges = lost;
        if (round.byJudge) {
            round.judgeBonds--;
            ofJudges += uint256(round.bond) * _terms.judgeReimbursement / WHOLE;
            lost += round.bond;
        }
        round.forfeited += uint128(lost - _share(address(0), judges, ofJudges));
    }

    /// @dev Credits equal parts; what can't be shared is left for the winners.
    /// @return shared what was credited
    function _share(address token, address[] memory judges, uint256 amount) private returns (uint256 shared) {
        uint256 part = amount / judges.length;
        for (uint256 i = 0; i < judges.length; i++) _credit(token, judges[i], part);
        return part * judges.length;
    }

    /// @dev Returns the winners as bits. They must have revealed, and be named once; of a discrete query they are all who
    ///   voted for the answer.
    function _winnersOf(uint256 requestId, Round storage round, bytes calldata answer, address[] calldata winners)
        private
        view
        returns (uint64 found)
    {
        _requireLength("answer", answer.length, ANSWER_BYTES);
        for (uint256 i = 0; i < winners.length; i++) found |= _bitOfWinner(requestId, winners[i], found);
        if (found == 0) revert ICouncil.WrongWinners(requestId);
        if (round.options == 0) return found;
        uint8 option = _rules.findOption(DataAsCode.read(round.textAt), answer);
        if (option == 0 || found != _votersOf(requestId, option)) revert ICouncil.WrongWinners(requestId);
    }

    function _bitOfWinner(uint256 requestId, address winner, uint64 found) private view returns (uint64 bit) {
        uint256 place = roleOf[requestId][winner];
        if (place == 0 || place > MAX_INFO_AGENTS) revert ICouncil.WrongWinner(requestId, winner);
        bit = uint64(1 << (place - 1));
        if (found & bit != 0 || !agentsOf[requestId][place - 1].isRevealed) {
            revert ICouncil.WrongWinner(requestId, winner);
        }
    }
}
