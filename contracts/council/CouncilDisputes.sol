// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {DataAsCode} from "../callback/DataAsCode.sol";
import {CouncilJudging} from "./CouncilJudging.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {Phase} from "./ICouncil.sol";

/// @title Disputes of a council's answers: the ERC's optional extension
/// @notice A request has one dispute at most. Nothing is paid out before it ends.
///   - Upheld: of the disputer's bond its judge gets `judgeReimbursement`; the winners and the requester share the rest.
///   - Overturned: the disputer gets its bond back and `disputerReimbursement` of the first judge's fee. The second judge
///     gets the rest of that fee and `judgeReimbursement` of the first judge's bond; the winners get the rest of that bond.
///   - Nobody judged in time: the answer stands, and the disputer gets its bond back.
abstract contract CouncilDisputes is CouncilJudging {
    /// @inheritdoc IAgentCouncilOracle
    function initiateDispute(uint256 requestId, string calldata reason) external payable nonReentrant {
        Round storage round = _requirePhase(requestId, Phase.Window);
        _requireValue(_disputeBond(round));
        _requireLength("reason", bytes(reason).length, MAX_REASON_BYTES);
        round.disputer = msg.sender;
        round.isDisputeBondHeld = true;
        _enter(round, Phase.DisputeRegistration, _terms.disputeRegistrationTime);
        emit DisputeInitiated(requestId, msg.sender, reason);
    }

    /// @inheritdoc IAgentCouncilOracle
    function resolveDispute(
        uint256 requestId,
        bool overturn,
        bytes calldata newAnswer,
        address[] calldata newWinners
    ) external nonReentrant {
        Round storage round = _requirePhase(requestId, Phase.DisputeJudge);
        if (msg.sender != panels[requestId][true].judge) revert NotJudge(requestId, msg.sender);
        bytes memory answer = DataAsCode.read(round.answerAt);
        if (overturn) {
            uint64 winners = _winnersOf(requestId, round, newAnswer, newWinners);
            if (winners == round.winners && keccak256(newAnswer) == keccak256(answer)) {
                revert NothingOverturned(requestId);
            }
            _overturn(round);
            answer = newAnswer;
            (round.winners, round.answerAt) = (winners, DataAsCode.write(answer));
        } else {
            _uphold(round);
        }
        round.judgeBonds--;
        _credit(address(0), msg.sender, round.bond);
        _endDispute(requestId, round, answer);
    }

    /// @dev The judge's fee of a request whose answer a judge gave, or overturned.
    function _judgeFee(Round storage round) internal view returns (uint256) {
        return uint256(round.reward) * _terms.judgeFee / WHOLE;
    }

    function _endWithoutJudge(uint256 requestId, Round storage round, bool ofDispute) internal override {
        if (!ofDispute) return _fail(requestId, round, "no judge");
        _credit(address(0), round.disputer, _disputeBond(round));
        _endDispute(requestId, round, DataAsCode.read(round.answerAt));
    }

    function _endDispute(uint256 requestId, Round storage round, bytes memory answer) private {
        round.isDisputeBondHeld = false;
        _releaseCandidates(requestId, round, true);
        _enter(round, Phase.Resolved, 0);
        emit DisputeResolved(requestId, round.overturned, answer);
    }

    function _uphold(Round storage round) private {
        uint256 bond = _disputeBond(round);
        uint256 ofJudge = bond * _terms.judgeReimbursement / WHOLE;
        uint256 ofRequester = (bond - ofJudge) / 2;
        _credit(address(0), msg.sender, ofJudge);
        _credit(address(0), round.requester, ofRequester);
        round.forfeited += uint128(bond - ofJudge - ofRequester);
    }

    function _overturn(Round storage round) private {
        round.overturned = true;
        uint256 fee = _judgeFee(round);
        uint256 ofDisputer = fee * _terms.disputerReimbursement / WHOLE;
        round.paid = uint128(fee);
        _credit(address(0), round.disputer, _disputeBond(round));
        _credit(round.rewardToken, round.disputer, ofDisputer);
        _credit(round.rewardToken, msg.sender, fee - ofDisputer);
        if (!round.byJudge) return; // a vote, so no first judge
        uint256 ofJudge = uint256(round.bond) * _terms.judgeReimbursement / WHOLE;
        round.judgeBonds--;
        _credit(address(0), msg.sender, ofJudge);
        round.forfeited += round.bond - uint128(ofJudge);
    }
}
