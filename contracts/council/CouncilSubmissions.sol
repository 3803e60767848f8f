// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {DataAsCode} from "../callback/DataAsCode.sol";
import {ANSWER_BYTES} from "./CouncilStore.sol";
import {CouncilViews} from "./CouncilViews.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Phase} from "./ICouncil.sol";

/// @title Questions, commitments and answers of a council
abstract contract CouncilSubmissions is CouncilViews, ReentrancyGuard {
    /// @inheritdoc IAgentCouncilOracle
    function createRequest(
        string calldata query,
        uint256 numInfoAgents,
        uint256 bondAmount,
        uint256 deadline,
        address rewardToken,
        string calldata specifications,
        AgentCapabilities calldata requiredCapabilities
    ) external payable nonReentrant returns (uint256 requestId) {
        _rules.checkRequest(numInfoAgents, bondAmount, deadline);
        requestId = ++_requestCount;
        Round storage round = rounds[requestId];
        (round.textAt, round.options) = _keepText(abi.encode(query, specifications, requiredCapabilities));
        round.requester = msg.sender;
        round.phase = Phase.Commit;
        round.numInfoAgents = uint8(numInfoAgents);
        (round.endsAt, round.deadline) = (uint64(deadline), uint64(deadline));
        round.bond = uint128(bondAmount);
        round.rewardToken = rewardToken;
        round.reward = _takeReward(rewardToken);
        emit RequestCreated(requestId, msg.sender, query, round.reward, numInfoAgents, bondAmount);
    }

    /// @inheritdoc ICouncil
    function payDirectly(uint256 requestId) external nonReentrant {
        Round storage round = _requireAsking(requestId);
        if (agentsOf[requestId].length > 0) revert CommitmentsMade(requestId);
        round.isDirect = true;
        emit DirectPayment(requestId);
    }

    /// @inheritdoc ICouncil
    function declareValue(uint256 requestId, uint256 valueWei) external nonReentrant {
        Round storage round = _requireAsking(requestId);
        if (valueWei <= round.declared || valueWei > MAX_AMOUNT) {
            revert OutOfRange("value", valueWei, uint256(round.declared) + 1, MAX_AMOUNT);
        }
        round.declared = uint96(valueWei);
        emit ValueDeclared(requestId, valueWei);
    }

    /// @inheritdoc IAgentCouncilOracle
    function commit(uint256 requestId, bytes32 commitment) external payable nonReentrant {
        Round storage round = _requirePhase(requestId, Phase.Commit);
        _requireValue(round.bond);
        if (commitment == 0) revert EmptyCommitment();
        if (_terms.plainCommitments) _noteCommitment(requestId, commitment);
        if (roleOf[requestId][msg.sender] != 0) revert NotEligible(requestId, msg.sender);
        InfoAgent[] storage agents = agentsOf[requestId];
        InfoAgent storage agent = agents.push();
        agent.account = msg.sender;
        agent.weight = _weigh(requestId, round);
        agent.commitment = commitment;
        roleOf[requestId][msg.sender] = uint8(agents.length);
        if (agents.length == round.numInfoAgents) _enter(round, Phase.Reveal, _terms.revealTime);
        emit AgentCommitted(requestId, msg.sender, commitment);
    }

    /// @inheritdoc IAgentCouncilOracle
    function reveal(uint256 requestId, bytes calldata answer, uint256 nonce) external nonReentrant {
        Round storage round = _requirePhase(requestId, Phase.Reveal);
        _requireLength("answer", answer.length, ANSWER_BYTES);
        uint256 place = roleOf[requestId][msg.sender];
        if (place == 0 || place > MAX_INFO_AGENTS) revert WrongReveal(requestId, msg.sender);
        InfoAgent storage agent = agentsOf[requestId][place - 1];
        if (agent.isRevealed || agent.commitment != commitmentOf(requestId, msg.sender, answer, nonce)) {
            revert WrongReveal(requestId, msg.sender);
        }
        agent.isRevealed = true;
        agent.answerAt = DataAsCode.write(answer);
        round.reveals++;
        round.seed ^= keccak256(abi.encode(requestId, msg.sender, nonce));
        if (round.options > 0) {
            agent.option = _rules.findOption(DataAsCode.read(round.textAt), answer);
            votesOf[requestId][agent.option] += _terms.weightedVotes ? agent.weight : 1;
        }
        emit AgentRevealed(requestId, msg.sender, answer);
        if (round.reveals == agentsOf[requestId].length) _closeReveals(requestId, round);
    }

    /// @inheritdoc ICouncil
    function commitmentOf(uint256 requestId, address agent, bytes calldata answer, uint256 nonce)
        public
        view
        virtual
        returns (bytes32)
    {
        if (_terms.plainCommitments) return keccak256(abi.encode(answer, nonce));
        return keccak256(abi.encode(block.chainid, address(this), requestId, agent, answer, nonce));
    }

    /// @dev Ends the reveals: the vote or a judge goes on, or the request fails.
    function _closeReveals(uint256 requestId, Round storage round) internal virtual;

    function _keepText(bytes memory text) internal virtual returns (address where, uint8 options) {
        return (DataAsCode.write(text), _rules.checkText(text));
    }

    /// @dev Whoever copies a commitment of the same request is refused, or is first and can't reveal.
    function _noteCommitment(uint256 requestId, bytes32 commitment) internal virtual {
        if (isPlainCommitment[requestId][commitment]) revert CopiedCommitment(requestId);
        isPlainCommitment[requestId][commitment] = true;
    }

    /// @dev Refuses a caller with too low a score, or whose identity takes part with another account.
    function _enterIdentity(uint256 requestId, int256 minimum) internal {
        if (address(_reputation) == address(0)) return;
        int256 score = _reputation.scoreOf(msg.sender);
        if (score < minimum) revert ReputationTooLow(msg.sender, score, minimum);
        _reputation.enter(requestId, msg.sender);
    }

    /// @dev Returns a request of the caller for which agents commit.
    function _requireAsking(uint256 requestId) private returns (Round storage round) {
        round = _requirePhase(requestId, Phase.Commit);
        if (msg.sender != round.requester) revert NotRequester(requestId, msg.sender);
    }

    /// @dev Refuses agents without the required reputation or capabilities; returns the weight of the others.
    function _weigh(uint256 requestId, Round storage round) private returns (uint32) {
        if (address(_reputation) == address(0)) return 1;
        _enterIdentity(requestId, _terms.minAgentReputation);
        if (!_rules.isCapable(_reputation, msg.sender, DataAsCode.read(round.textAt))) revert NotCapable(msg.sender);
        uint32 weight = _reputation.weightOf(msg.sender);
        return weight == 0 ? 1 : weight;
    }
}
