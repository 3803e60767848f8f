// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {AgentOracle} from "./AgentOracle.sol";
import {DataAsCode} from "./DataAsCode.sol";
import {Answer, Commitment} from "./IAgentOracle.sol";
import {Outcome} from "./IAgentOracleClient.sol";
import {IChallengeableOracle, Proposal, ProposalStatus} from "./IChallengeableOracle.sol";

/// @title An AgentOracle whose answers wait for a window in which anybody may challenge them
/// @notice Its rules, beside those of AgentOracle:
///   - an answer locks a bond of its worker's stake; if nobody challenges it in the window, anybody may finalize it;
///   - a challenge locks the same bond, and the arbiter rules: whoever computed otherwise than the arbiter loses;
///   - of a lost bond one half goes to the winner, the other to the arbiter. So who challenges a wrong answer of its own
///     loses half a bond, and the arbiter's work is paid;
///   - no answer becomes final that was challenged and not upheld. Without a ruling in time both bonds go back;
///   - after a ruling against the answer, or none, the request waits for other answers. Once its deadline is over it can
///     only expire;
///   - a ruling and a challenge name their proposal, so neither counts for a later one.
/// @dev What a ruling shows is what the arbiter said. Whoever has the request's block can compute it again. The owner
///   can't change the arbiter, the bond or the times.
///   The contract's wei are those of AgentOracle, free stakes, one bond for each proposal, one more for each challenge
///   that waits for its ruling.
contract ChallengeableOracle is AgentOracle, IChallengeableOracle {
    /// @notice How answers are challenged.
    /// @param arbiter who rules
    /// @param bond wei that a proposal locks and a challenge costs
    /// @param challengeWindow seconds in which a proposal can be challenged, at most 7 days
    /// @param arbitrationTime seconds after a challenge in which the arbiter can rule, at most 30 days
    struct ChallengeTerms {
        address arbiter;
        uint96 bond;
        uint64 challengeWindow;
        uint64 arbitrationTime;
    }

    uint256 public constant MAX_WINDOW = 7 days;
    uint256 public constant MAX_ARBITRATION_TIME = 30 days;

    /// @inheritdoc IChallengeableOracle
    address public immutable arbiter;

    /// @inheritdoc IChallengeableOracle
    uint256 public immutable bond;

    /// @inheritdoc IChallengeableOracle
    uint64 public immutable challengeWindow;

    /// @inheritdoc IChallengeableOracle
    uint64 public immutable arbitrationTime;

    /// @inheritdoc IChallengeableOracle
    mapping(address account => uint256) public freeStakeOf;

    /// @notice How many answers were proposed.
    uint256 public proposalCount;

    mapping(uint256 requestId => Proposal) private proposals;

    /// @dev Answers that were proposed once. By these, nobody else can lock their worker's bond again.
    mapping(bytes32 signedAnswer => bool) private wasProposed;

    /// @param owner registers workers and sets prices; it can touch nobody's wei
    constructor(address owner, Prices memory _prices, ChallengeTerms memory terms) AgentOracle(owner, _prices) {
        _requireRange("arbiter", uint160(terms.arbiter), 1, type(uint160).max);
        _requireRange("bond", terms.bond, 1, type(uint96).max);
        _requireRange("challengeWindow", terms.challengeWindow, 1, MAX_WINDOW);
        _requireRange("arbitrationTime", terms.arbitrationTime, 1, MAX_ARBITRATION_TIME);
        arbiter = terms.arbiter;
        bond = terms.bond;
        challengeWindow = terms.challengeWindow;
        arbitrationTime = terms.arbitrationTime;
    }

    // ---- Stakes

    /// @inheritdoc IChallengeableOracle
    function stake() external payable nonReentrant {
        _addStake(msg.sender, msg.value);
    }

    /// @inheritdoc IChallengeableOracle
    function unstake(uint256 amount) external nonReentrant {
        _takeStake(msg.sender, amount);
        _credit(msg.sender, amount);
    }

    // ---- Proposals

    /// @inheritdoc IChallengeableOracle
    function finalize(Commitment calldata commitment) external nonReentrant returns (bool delivered) {
        uint256 requestId = commitment.requestId;
        Proposal memory proposal = proposals[requestId];
        if (proposal.commitmentHash != keccak256(abi.encode(commitment))) revert UnknownCommitment(requestId);
        if (proposal.status == ProposalStatus.Challenged) revert WrongStatus(requestId, proposal.status);
        if (proposal.status == ProposalStatus.Open && block.timestamp <= proposal.challengeableUntil) {
            revert TooEarly(requestId, proposal.challengeableUntil);
        }
        delete proposals[requestId];
        _addStake(proposal.worker, bond);
        _credit(proposal.worker, commitment.fee);
        emit AnswerFinalized(requestId, proposal.worker, proposal.proposalId);
        Outcome outcome = proposal.refused ? Outcome.Refused : Outcome.Answered;
        return _settle(commitment, outcome, proposal.outputAt, proposal.worker);
    }

    /// @inheritdoc IChallengeableOracle
    function challenge(uint256 requestId, bytes32 proposalId) external payable nonReentrant {
        Proposal storage proposal = _requireProposal(requestId, proposalId, ProposalStatus.Open);
        if (block.timestamp > proposal.challengeableUntil) revert TooLate(requestId, proposal.challengeableUntil);
        if (msg.value != bond) revert WrongValue(msg.value, bond);
        proposal.status = ProposalStatus.Challenged;
        proposal.challenger = msg.sender;
        proposal.ruleableUntil = uint64(block.timestamp) + arbitrationTime;
        emit AnswerChallenged(requestId, msg.sender, proposalId, proposal.ruleableUntil);
    }

    /// @inheritdoc IChallengeableOracle
    function rule(uint256 requestId, bytes32 proposalId, bytes32 answerHash) external nonReentrant {
        if (msg.sender != arbiter) revert NotArbiter(msg.sender);
        Proposal storage proposal = _requireProposal(requestId, proposalId, ProposalStatus.Challenged);
        if (block.timestamp > proposal.ruleableUntil) revert TooLate(requestId, proposal.ruleableUntil);
        bool upheld = answerHash == proposal.answerHash;
        emit AnswerRuled(requestId, proposalId, answerHash, upheld);
        if (upheld) {
            proposal.status = ProposalStatus.Upheld;
            _share(proposal.worker);
        } else {
            address challenger = proposal.challenger;
            _reopen(requestId);
            _credit(challenger, bond);
            _share(challenger);
        }
    }

    /// @inheritdoc IChallengeableOracle
    function endUnruled(uint256 requestId) external nonReentrant {
        Proposal memory proposal = proposals[requestId];
        if (proposal.status != ProposalStatus.Challenged) revert WrongStatus(requestId, proposal.status);
        if (block.timestamp <= proposal.ruleableUntil) revert TooEarly(requestId, proposal.ruleableUntil);
        emit AnswerUnruled(requestId, proposal.proposalId);
        _reopen(requestId);
        _addStake(proposal.worker, bond);
        _credit(proposal.challenger, bond);
    }

    // ---- Views

    /// @inheritdoc IChallengeableOracle
    function proposalOf(uint256 requestId) external view returns (Proposal memory proposal, bytes memory output) {
        proposal = proposals[requestId];
        output = DataAsCode.read(proposal.outputAt);
    }

    /// @inheritdoc IChallengeableOracle
    function hashAnswer(bool refused, bytes memory output) public pure returns (bytes32) {
        return keccak256(abi.encode(refused, output));
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override(AgentOracle, IERC165) returns (bool) {
        return interfaceId == type(IChallengeableOracle).interfaceId || super.supportsInterface(interfaceId);
    }

    // ---- Internal

    /// @dev Keeps a checked answer as a proposal. The request no longer waits, so it can't be answered or expire.
    function _accept(Commitment calldata commitment, Answer calldata answer_, address worker)
        internal
        override
        returns (bool delivered)
    {
        uint256 requestId = commitment.requestId;
        bytes32 answerHash = hashAnswer(answer_.refused, answer_.output);
        bytes32 signedAnswer = keccak256(abi.encode(requestId, worker, answerHash));
        if (wasProposed[signedAnswer] && msg.sender != worker) revert AlreadyProposed(requestId, worker, answerHash);
        wasProposed[signedAnswer] = true;
        _takeStake(worker, bond);

        Proposal memory proposal = Proposal({
            proposalId: keccak256(
                abi.encode(block.chainid, address(this), requestId, ++proposalCount, worker, answerHash)
            ),
            commitmentHash: commitmentOf[requestId],
            answerHash: answerHash,
            worker: worker,
            challengeableUntil: uint64(block.timestamp) + challengeWindow,
            status: ProposalStatus.Open,
            refused: answer_.refused,
            challenger: address(0),
            ruleableUntil: 0,
            outputAt: DataAsCode.write(answer_.output)
        });
        proposals[requestId] = proposal;
        delete commitmentOf[requestId];
        emit AnswerProposed(
            requestId,
            worker,
            proposal.proposalId,
            answerHash,
            answer_.refused,
            keccak256(answer_.output),
            proposal.challengeableUntil
        );
        return false;
    }

    // ---- Private

    function _requireProposal(uint256 requestId, bytes32 proposalId, ProposalStatus status)
        private
        view
        returns (Proposal storage proposal)
    {
        proposal = proposals[requestId];
        if (proposal.proposalId != proposalId || proposalId == 0) revert UnknownProposal(requestId, proposalId);
        if (proposal.status != status) revert WrongStatus(requestId, proposal.status);
    }

    /// @dev Deletes a proposal; its request waits for an answer again.
    function _reopen(uint256 requestId) private {
        commitmentOf[requestId] = proposals[requestId].commitmentHash;
        delete proposals[requestId];
    }

    /// @dev Shares a lost bond.
    function _share(address winner) private {
        uint256 half = bond / 2;
        _credit(winner, half);
        _credit(arbiter, bond - half);
    }

    function _addStake(address account, uint256 amount) private {
        freeStakeOf[account] += amount;
        emit StakeChanged(account, freeStakeOf[account]);
    }

    function _takeStake(address account, uint256 amount) private {
        uint256 free = freeStakeOf[account];
        if (free < amount) revert InsufficientStake(account, free, amount);
        freeStakeOf[account] = free - amount;
        emit StakeChanged(account, free - amount);
    }
}
