// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {ERC165, IERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {EnumerableSet} from "@openzeppelin/contracts/utils/structs/EnumerableSet.sol";
import {IChallengeableOracle} from "./IChallengeableOracle.sol";
import {ICommitteeArbiter} from "./ICommitteeArbiter.sol";

/// @title An arbiter made of keys, of which more than half must agree
/// @notice Each member computes the challenged step again and votes for the hash of its answer. The vote that reaches the
///   threshold rules, and what the oracle pays for the ruling is shared among those who voted for it.
///   - A member votes once on a proposal, for one hash.
///   - Votes can be read while others still compute. Nothing here shows that a member computed anything itself.
///   - Where no hash reaches the threshold there is no ruling, and the oracle gives both bonds back after its time.
/// @dev It serves any number of oracles. The members never change: deploy another committee and oracle for others.
contract CommitteeArbiter is ICommitteeArbiter, ERC165, ReentrancyGuard {
    using EnumerableSet for EnumerableSet.AddressSet;

    /// @dev The votes on one proposal of one oracle.
    struct Ballot {
        bool ruled;
        mapping(address member => bool) hasVoted;
        mapping(bytes32 answerHash => address[]) voters;
    }

    /// @notice A member voted.
    event Voted(
        IChallengeableOracle indexed oracle,
        uint256 indexed requestId,
        address indexed member,
        bytes32 proposalId,
        bytes32 answerHash
    );

    /// @notice The threshold was reached; the oracle paid `amount` wei for the ruling.
    event Ruled(
        IChallengeableOracle indexed oracle,
        uint256 indexed requestId,
        bytes32 proposalId,
        bytes32 answerHash,
        uint256 amount
    );

    /// @notice A member withdrew its claimable wei.
    event Withdrawn(address indexed member, address to, uint256 amount);

    /// @notice The threshold is not more than half of the members, or more than all.
    error WrongThreshold(uint256 threshold, uint256 members);

    /// @notice The address is zero, or named twice.
    error WrongMember(address member);

    /// @notice The caller is not a member.
    error NotMember(address caller);

    /// @notice The member has voted on this proposal.
    error AlreadyVoted(address member, bytes32 proposalId);

    /// @notice The committee has ruled on this proposal.
    error AlreadyRuled(bytes32 proposalId);

    /// @notice The member has nothing to withdraw.
    error NothingToWithdraw(address member);

    /// @notice Wei come from an oracle during a ruling alone.
    error UnexpectedValue(address sender);

    /// @inheritdoc ICommitteeArbiter
    uint256 public immutable threshold;

    /// @inheritdoc ICommitteeArbiter
    mapping(address member => uint256) public claimable;

    EnumerableSet.AddressSet private memberSet;
    mapping(IChallengeableOracle oracle => mapping(uint256 requestId => mapping(bytes32 proposalId => Ballot))) private
        ballots;

    /// @param _members who votes
    /// @param _threshold how many equal votes rule: more than half of the members
    constructor(address[] memory _members, uint256 _threshold) {
        if (_threshold <= _members.length / 2 || _threshold > _members.length) {
            revert WrongThreshold(_threshold, _members.length);
        }
        for (uint256 i = 0; i < _members.length; i++) {
            if (_members[i] == address(0) || !memberSet.add(_members[i])) revert WrongMember(_members[i]);
        }
        threshold = _threshold;
    }

    /// @notice Takes what an oracle pays during a ruling.
    receive() external payable {
        if (!_reentrancyGuardEntered()) revert UnexpectedValue(msg.sender);
    }

    /// @inheritdoc ICommitteeArbiter
    function vote(IChallengeableOracle oracle, uint256 requestId, bytes32 proposalId, bytes32 answerHash)
        external
        nonReentrant
    {
        if (!isMember(msg.sender)) revert NotMember(msg.sender);
        Ballot storage ballot = ballots[oracle][requestId][proposalId];
        if (ballot.ruled) revert AlreadyRuled(proposalId);
        if (ballot.hasVoted[msg.sender]) revert AlreadyVoted(msg.sender, proposalId);
        ballot.hasVoted[msg.sender] = true;
        address[] storage voters = ballot.voters[answerHash];
        voters.push(msg.sender);
        emit Voted(oracle, requestId, msg.sender, proposalId, answerHash);
        if (voters.length < threshold) return;

        ballot.ruled = true;
        // What arrives is counted, not what the oracle says: it may be anybody's contract.
        uint256 before = address(this).balance;
        oracle.rule(requestId, proposalId, answerHash);
        oracle.withdraw(payable(address(this)));
        uint256 amount = address(this).balance - before;
        emit Ruled(oracle, requestId, proposalId, answerHash, amount);
        _share(voters, amount);
    }

    /// @inheritdoc ICommitteeArbiter
    function withdraw(address payable to) external nonReentrant returns (uint256 amount) {
        return _payOut(msg.sender, to);
    }

    /// @inheritdoc ICommitteeArbiter
    function withdrawFor(address member) external nonReentrant returns (uint256 amount) {
        return _payOut(member, payable(member));
    }

    /// @inheritdoc ICommitteeArbiter
    function members() external view returns (address[] memory) {
        return memberSet.values();
    }

    /// @inheritdoc ICommitteeArbiter
    function isMember(address account) public view returns (bool) {
        return memberSet.contains(account);
    }

    /// @inheritdoc ICommitteeArbiter
    function votesOf(IChallengeableOracle oracle, uint256 requestId, bytes32 proposalId, bytes32 answerHash)
        external
        view
        returns (address[] memory voters, bool ruled)
    {
        Ballot storage ballot = ballots[oracle][requestId][proposalId];
        return (ballot.voters[answerHash], ballot.ruled);
    }

    /// @inheritdoc ICommitteeArbiter
    function hasVoted(IChallengeableOracle oracle, uint256 requestId, bytes32 proposalId, address member)
        external
        view
        returns (bool)
    {
        return ballots[oracle][requestId][proposalId].hasVoted[member];
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(ICommitteeArbiter).interfaceId || super.supportsInterface(interfaceId);
    }

    function _payOut(address member, address payable to) private returns (uint256 amount) {
        amount = claimable[member];
        if (amount == 0) revert NothingToWithdraw(member);
        claimable[member] = 0;
        emit Withdrawn(member, to, amount);
        Address.sendValue(to, amount);
    }

    /// @dev The last voter, who paid for the ruling's gas, gets the wei that can't be divided.
    function _share(address[] storage voters, uint256 amount) private {
        uint256 count = voters.length;
        uint256 each = amount / count;
        for (uint256 i = 0; i < count; i++) {
            claimable[voters[i]] += each;
        }
        claimable[voters[count - 1]] += amount - each * count;
    }
}
