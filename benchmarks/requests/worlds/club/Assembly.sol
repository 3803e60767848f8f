// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title The general assembly: members propose and vote
contract Assembly {
    enum State {
        Active,
        Canceled
    }

    struct Proposal {
        address proposer;
        State state;
        string description;
        uint256 againstVotes;
        uint256 forVotes;
        uint256 abstainVotes;
    }

    error NotChair(address caller);
    error UnknownProposal(uint256 proposalId);
    error NotActive(uint256 proposalId);
    error AlreadyVoted(address voter);
    error InvalidVoteType(uint8 support);
    error InvalidQuorum(uint256 percent);

    address public immutable chair;
    uint256 public proposalCount;
    uint256 public quorum = 25;
    mapping(uint256 => Proposal) private proposals;
    mapping(uint256 => mapping(address => bool)) public hasVoted;
    mapping(address => address) public delegates;

    constructor(address _chair) {
        chair = _chair;
    }

    /// @notice Makes a new proposal.
    /// @param description what is proposed
    /// @return proposalId its number
    function propose(string calldata description) external returns (uint256 proposalId) {
        proposalId = ++proposalCount;
        proposals[proposalId].proposer = msg.sender;
        proposals[proposalId].description = description;
    }

    /// @notice Votes on a proposal.
    /// @param proposalId number of the proposal
    /// @param support 0 = against, 1 = for, 2 = abstain
    function castVote(uint256 proposalId, uint8 support) external {
        Proposal storage proposal = _active(proposalId);
        if (hasVoted[proposalId][msg.sender]) revert AlreadyVoted(msg.sender);
        hasVoted[proposalId][msg.sender] = true;
        if (support == 0) proposal.againstVotes++;
        else if (support == 1) proposal.forVotes++;
        else if (support == 2) proposal.abstainVotes++;
        else revert InvalidVoteType(support);
    }

    /// @notice Delegates votes from the sender to `delegatee`.
    function delegate(address delegatee) external {
        delegates[msg.sender] = delegatee;
    }

    /// @notice Cancels a proposal. For the chair and whoever proposed it.
    /// @param proposalId number of the proposal
    function cancel(uint256 proposalId) external {
        Proposal storage proposal = _active(proposalId);
        if (msg.sender != chair && msg.sender != proposal.proposer) revert NotChair(msg.sender);
        proposal.state = State.Canceled;
    }

    /// @notice Sets the share of members that has to vote. For the chair.
    /// @param percent at most 100
    function setQuorum(uint256 percent) external {
        if (msg.sender != chair) revert NotChair(msg.sender);
        if (percent > 100) revert InvalidQuorum(percent);
        quorum = percent;
    }

    /// @notice Returns the votes that a proposal has so far.
    /// @param proposalId number of the proposal
    function proposalVotes(uint256 proposalId)
        external
        view
        returns (uint256 againstVotes, uint256 forVotes, uint256 abstainVotes)
    {
        Proposal storage proposal = proposals[proposalId];
        return (proposal.againstVotes, proposal.forVotes, proposal.abstainVotes);
    }

    function _active(uint256 proposalId) private view returns (Proposal storage proposal) {
        if (proposalId == 0 || proposalId > proposalCount) revert UnknownProposal(proposalId);
        proposal = proposals[proposalId];
        if (proposal.state != State.Active) revert NotActive(proposalId);
    }
}
