// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Votes of the owners of the garage, weighted by their shares
contract OwnersVote is Ownable {
    struct Proposal {
        string title;
        bool isClosed;
        uint256[3] votes;
    }

    error NotAnOwner(address caller);
    error NotTheChair(address caller);
    error NoSuchProposal(uint256 proposalId);
    error VoteClosed(uint256 proposalId);
    error AlreadyVoted(uint256 proposalId, address voter);
    error NoSuchVote(uint8 support);

    event Proposed(uint256 indexed proposalId, string title);
    event VoteCast(address indexed voter, uint256 indexed proposalId, uint8 support, uint256 weight, string reason);
    event Closed(uint256 indexed proposalId);

    IERC20 public immutable shares;
    address public chair;
    uint256 public proposalCount;
    mapping(uint256 proposalId => Proposal) private proposals;
    mapping(uint256 proposalId => mapping(address voter => bool)) public hasVoted;
    mapping(uint256 proposalId => mapping(address voter => string)) public reasonOf;

    constructor(IERC20 shares_) Ownable(msg.sender) {
        shares = shares_;
    }

    function setChair(address account) external onlyOwner {
        chair = account;
    }

    /// @notice Puts a proposal to the vote of the owners.
    /// @param title what is proposed
    /// @return proposalId its number
    function propose(string calldata title) external returns (uint256 proposalId) {
        if (shares.balanceOf(msg.sender) == 0) revert NotAnOwner(msg.sender);
        proposalId = ++proposalCount;
        proposals[proposalId].title = title;
        emit Proposed(proposalId, title);
    }

    /// @notice Votes on a proposal.
    /// @param proposalId number of the proposal
    /// @param support 0 = against, 1 = for, 2 = abstain
    function castVote(uint256 proposalId, uint8 support) external {
        _vote(proposalId, support, "");
    }

    /// @notice Votes on a proposal and states why.
    /// @param proposalId number of the proposal
    /// @param support 0 = against, 1 = for, 2 = abstain
    /// @param reason why
    function castVoteWithReason(uint256 proposalId, uint8 support, string calldata reason) external {
        _vote(proposalId, support, reason);
        reasonOf[proposalId][msg.sender] = reason;
    }

    /// @notice Closes the vote on a proposal.
    /// @param proposalId number of the proposal
    function closeVote(uint256 proposalId) external {
        if (msg.sender != chair) revert NotTheChair(msg.sender);
        _open(proposalId).isClosed = true;
        emit Closed(proposalId);
    }

    /// @notice Tells how many shares voted for a proposal.
    /// @param proposalId number of the proposal
    function votesFor(uint256 proposalId) external view returns (uint256) {
        if (proposalId == 0 || proposalId > proposalCount) revert NoSuchProposal(proposalId);
        return proposals[proposalId].votes[1];
    }

    function _vote(uint256 proposalId, uint8 support, string memory reason) private {
        Proposal storage proposal = _open(proposalId);
        uint256 weight = shares.balanceOf(msg.sender);
        if (weight == 0) revert NotAnOwner(msg.sender);
        if (support > 2) revert NoSuchVote(support);
        if (hasVoted[proposalId][msg.sender]) revert AlreadyVoted(proposalId, msg.sender);
        hasVoted[proposalId][msg.sender] = true;
        proposal.votes[support] += weight;
        emit VoteCast(msg.sender, proposalId, support, weight, reason);
    }

    function _open(uint256 proposalId) private view returns (Proposal storage proposal) {
        if (proposalId == 0 || proposalId > proposalCount) revert NoSuchProposal(proposalId);
        proposal = proposals[proposalId];
        if (proposal.isClosed) revert VoteClosed(proposalId);
    }
}

/// @title Pays profits to the owners
contract ProfitShare {
    using SafeERC20 for IERC20;

    error LengthMismatch(uint256 owners, uint256 amounts);

    IERC20 public immutable currency;
    mapping(address owner => uint256) public received;

    constructor(IERC20 currency_) {
        currency = currency_;
    }

    /// @notice Pays each owner a share of the profit.
    /// @param owners who is paid
    /// @param amounts how much each of them gets
    function payOut(address[] calldata owners, uint256[] calldata amounts) external {
        if (owners.length != amounts.length) revert LengthMismatch(owners.length, amounts.length);
        for (uint256 i = 0; i < owners.length; i++) {
            received[owners[i]] += amounts[i];
            currency.safeTransferFrom(msg.sender, owners[i], amounts[i]);
        }
    }
}
