// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {ICouncilReputation} from "../../council/ICouncilReputation.sol";
import {Phase, Terms} from "../../council/ICouncil.sol";

/// @title A council with one flawed rule for what goes out. For tests: it can be robbed, or keeps money
contract FlawedPayments is AgentCouncilOracle {
    enum Flaw {
        Push, // wei are sent when they are credited
        LateUpdate, // `withdraw` sends before it updates, without a guard
        NoCommitments, // nothing ends a request without commitments
        NoRefund, // a failed request refunds nothing
        StuckBonds // the bonds of a failed request's others stay
    }

    Flaw private immutable flaw;

    constructor(Terms memory terms, ICouncilReputation reputation_, Flaw flaw_) AgentCouncilOracle(terms, reputation_) {
        flaw = flaw_;
    }

    function withdraw(address token, address payable to) external override returns (uint256 amount) {
        amount = _claimable[token][msg.sender];
        require(amount > 0);
        if (flaw != Flaw.LateUpdate) _claimable[token][msg.sender] = 0;
        _send(token, to, amount);
        _claimable[token][msg.sender] = 0;
    }

    function _credit(address token, address account, uint256 amount) internal override {
        if (flaw == Flaw.Push && token == address(0)) Address.sendValue(payable(account), amount);
        else super._credit(token, account, amount);
    }

    function _endCommitments(uint256 requestId, Round storage round) internal override {
        if (flaw == Flaw.NoCommitments) revert NothingDue(requestId, round.phase, round.endsAt);
        super._endCommitments(requestId, round);
    }

    function _fail(uint256 requestId, Round storage round, string memory reason) internal override {
        if (flaw != Flaw.NoRefund && flaw != Flaw.StuckBonds) return super._fail(requestId, round, reason);
        round.phase = Phase.Failed;
        emit ResolutionFailed(requestId, reason);
        if (flaw == Flaw.NoRefund) return;
        _credit(round.rewardToken, round.requester, round.reward);
        InfoAgent[] storage agents = agentsOf[requestId];
        for (uint256 i = 0; i < agents.length; i++) {
            if (agents[i].isRevealed) _credit(address(0), agents[i].account, round.bond);
        }
    }
}
