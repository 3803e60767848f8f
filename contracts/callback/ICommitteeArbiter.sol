// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IChallengeableOracle} from "./IChallengeableOracle.sol";

/// @title An arbiter made of keys that vote
interface ICommitteeArbiter is IERC165 {
    /// @notice Votes on a challenged proposal. For members. The vote that reaches the threshold rules.
    /// @param answerHash `IChallengeableOracle.hashAnswer` of what the member computed
    function vote(IChallengeableOracle oracle, uint256 requestId, bytes32 proposalId, bytes32 answerHash) external;

    /// @notice Sends the caller's claimable wei to an address.
    function withdraw(address payable to) external returns (uint256 amount);

    /// @notice Sends a member its claimable wei, to itself. For everybody.
    function withdrawFor(address member) external returns (uint256 amount);

    /// @notice Returns who voted for a hash, in order, and whether the committee has ruled on the proposal.
    function votesOf(IChallengeableOracle oracle, uint256 requestId, bytes32 proposalId, bytes32 answerHash)
        external
        view
        returns (address[] memory voters, bool ruled);

    /// @notice Tells whether a member has voted on a proposal.
    function hasVoted(IChallengeableOracle oracle, uint256 requestId, bytes32 proposalId, address member)
        external
        view
        returns (bool);

    /// @notice Returns the members.
    function members() external view returns (address[] memory);

    /// @notice Tells whether an account is a member.
    function isMember(address account) external view returns (bool);

    /// @notice Returns how many equal votes rule.
    function threshold() external view returns (uint256);

    /// @notice Returns what a member may withdraw, in wei.
    function claimable(address member) external view returns (uint256);
}
