// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ERC165, IERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {DataAsCode} from "../callback/DataAsCode.sol";
import {ExactGasCall} from "../callback/ExactGasCall.sol";
import {CouncilJudging} from "./CouncilJudging.sol";
import {CouncilRules} from "./CouncilRules.sol";
import {CouncilStore} from "./CouncilStore.sol";
import {CouncilVerdicts} from "./CouncilVerdicts.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Phase, Terms} from "./ICouncil.sol";
import {ICouncilClient} from "./ICouncilClient.sol";
import {ICouncilReputation} from "./ICouncilReputation.sol";

/// @title An oracle of agents after ERC-8033
/// @notice Its rules:
///   - a commitment is of one agent, one request, one oracle and one chain, so nobody can copy it; or it is the ERC's plain
///     one, and no request takes the same twice;
///   - more than half of `numInfoAgents` must reveal, or the request fails;
///   - a discrete query is decided by more than half of the votes; without such a majority, and for an open query, by a judge
///     drawn from candidates who are neither info agents nor the requester;
///   - winners have revealed and are named once; of a discrete query they are all who voted for the answer;
///   - the winners share the reward, less the judge's fee, and the bonds of the others. A failed request gives the reward
///     back; those who revealed share the bonds of those who did not;
///   - bonds are in wei whatever the reward is in;
///   - whoever may undo an answer has at stake at least what undoing it moves: without a source of reputation answers are
///     final; with one, a panel decides disputes (`CouncilVerdicts`);
///   - any number of candidates may register, so nobody takes all places; a draw costs the same whatever their number;
///   - each phase ends in time: anybody may call `advance`. Money goes out by `withdraw` and `withdrawFor`, or is sent when
///     it is due where the requester chose so (`payDirectly`).
/// @dev Nobody owns it, and its terms never change. What it holds is `claimable` and, for each request, `escrowOf`.
contract AgentCouncilOracle is CouncilJudging, ERC165 {
    /// @dev Gas for what follows a callback.
    uint256 private constant GAS_AFTER_CALLBACK = 30_000;

    /// @notice The code of judges' verdicts.
    CouncilVerdicts private immutable verdicts;

    /// @param terms the rules of all requests
    /// @param reputation_ the source of reputation; zero for none
    constructor(Terms memory terms, ICouncilReputation reputation_)
        CouncilStore(new CouncilRules(terms), reputation_)
    {
        _requireReputation(terms);
        _terms = terms;
        verdicts = _newVerdicts();
    }

    /// @inheritdoc ICouncil
    function advance(uint256 requestId) external nonReentrant {
        Round storage round = _sync(requestId);
        Phase phase = round.phase;
        bool isWaiting = phase != Phase.None && phase < Phase.Resolved;
        if (!isWaiting || block.timestamp <= round.endsAt) revert NothingDue(requestId, phase, round.endsAt);
        if (phase == Phase.Commit) _endCommitments(requestId, round);
        else if (phase == Phase.Reveal) _closeReveals(requestId, round);
        else if (phase == Phase.Draw) _fail(requestId, round, "no judge");
        else if (phase == Phase.Judge) _replaceJudge(requestId, round);
        else _callVerdicts();
    }

    /// @inheritdoc IAgentCouncilOracle
    function distributeRewards(uint256 requestId) external nonReentrant {
        Round storage round = _sync(requestId);
        if (round.phase != Phase.Resolved) revert WrongPhase(requestId, round.phase);
        round.phase = Phase.Distributed;
        uint256 pot = round.reward - round.paid;
        if (round.byJudge && !round.overturned) {
            address judge = panels[requestId][false].judge;
            uint256 fee = _judgeFee(round);
            pot -= fee;
            round.judgeBonds--;
            _credit(round.rewardToken, judge, fee);
            _credit(address(0), judge, round.bond);
        }
        _payWinners(requestId, round, pot);
        if (round.isDirect) _callCode(abi.encodeCall(CouncilVerdicts.sendShares, (requestId)));
    }

    /// @inheritdoc ICouncil
    function withdraw(address token, address payable to) external virtual nonReentrant returns (uint256 amount) {
        return _payOut(token, msg.sender, to);
    }

    /// @inheritdoc ICouncil
    function withdrawFor(address token, address account) external nonReentrant returns (uint256 amount) {
        return _payOut(token, account, payable(account));
    }

    /// @inheritdoc ICouncil
    function callback(address target, uint256 requestId) external nonReentrant returns (bool success) {
        Round storage round = _sync(requestId);
        if (round.phase < Phase.Resolved) revert WrongPhase(requestId, round.phase);
        if (target != round.requester || isCalled[requestId]) revert NothingToCall(requestId, target);
        bytes memory data = abi.encodeCall(
            ICouncilClient.handleResolution,
            (requestId, round.phase != Phase.Failed, DataAsCode.read(round.answerAt))
        );
        bytes memory returned;
        (success, returned) = ExactGasCall.call(target, _terms.callbackGas, GAS_AFTER_CALLBACK, data);
        if (success) isCalled[requestId] = true;
        emit CallbackFinished(requestId, target, success, returned);
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(IAgentCouncilOracle).interfaceId || interfaceId == type(ICouncil).interfaceId
            || super.supportsInterface(interfaceId);
    }

    function _callVerdicts() internal override {
        _callCode(msg.data);
    }

    function _callCode(bytes memory data) internal {
        (bool success, bytes memory returned) = address(verdicts).delegatecall(data);
        if (success) return;
        assembly ("memory-safe") {
            revert(add(returned, 32), mload(returned))
        }
    }

    function _newVerdicts() internal virtual returns (CouncilVerdicts) {
        return new CouncilVerdicts(_rules, _reputation);
    }

    function _requireReputation(Terms memory terms) internal view virtual {
        if (terms.disputeWindow == 0) return;
        if (address(_reputation) == address(0) || terms.minDisputeJudgeReputation < 1) revert DisputesNeedReputation();
    }

    function _endCommitments(uint256 requestId, Round storage round) internal virtual {
        _fail(requestId, round, "no commitments");
    }

    /// @dev Those who revealed get their bonds back and share the others; if nobody did, the requester gets them.
    function _fail(uint256 requestId, Round storage round, string memory reason) internal virtual override {
        round.phase = Phase.Failed;
        emit ResolutionFailed(requestId, reason);
        _credit(round.rewardToken, round.requester, round.reward);
        InfoAgent[] storage agents = agentsOf[requestId];
        uint256 left = uint256(round.bond) * (agents.length - round.reveals) + round.forfeited;
        uint256 sharers = round.reveals;
        for (uint256 i = 0; i < agents.length; i++) {
            if (!agents[i].isRevealed) continue;
            uint256 part = left / sharers;
            (left, sharers) = (left - part, sharers - 1);
            _credit(address(0), agents[i].account, round.bond + part);
        }
        _credit(address(0), round.requester, left);
        if (round.isDirect) _callCode(abi.encodeCall(CouncilVerdicts.sendShares, (requestId)));
    }

    /// @dev Shares a pot and the lost bonds. What is shared last is what is left, so nothing remains.
    function _payWinners(uint256 requestId, Round storage round, uint256 pot) internal virtual {
        (address[] memory winners, uint256[] memory weights, uint256 total) = _winnersAndWeights(requestId, round);
        uint256[] memory amounts = new uint256[](winners.length);
        uint256 bonds = uint256(round.bond) * (agentsOf[requestId].length - winners.length) + round.forfeited;
        for (uint256 i = 0; i < winners.length; i++) {
            uint256 ofBonds = bonds * weights[i] / total;
            amounts[i] = pot * weights[i] / total;
            (pot, bonds, total) = (pot - amounts[i], bonds - ofBonds, total - weights[i]);
            _credit(round.rewardToken, winners[i], amounts[i]);
            _credit(address(0), winners[i], round.bond + ofBonds);
        }
        emit RewardsDistributed(requestId, winners, amounts);
    }

    function _winnersAndWeights(uint256 requestId, Round storage round)
        private
        view
        returns (address[] memory winners, uint256[] memory weights, uint256 total)
    {
        InfoAgent[] storage agents = agentsOf[requestId];
        uint256 count = 0;
        for (uint256 i = 0; i < agents.length; i++) count += round.winners >> i & 1;
        (winners, weights) = (new address[](count), new uint256[](count));
        count = 0;
        for (uint256 i = 0; i < agents.length; i++) {
            if (round.winners >> i & 1 == 0) continue;
            winners[count] = agents[i].account;
            weights[count] = _terms.proportionalRewards ? agents[i].weight : 1;
            total += weights[count++];
        }
    }
}
