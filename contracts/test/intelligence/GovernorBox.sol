// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Governor} from "@openzeppelin/contracts/governance/Governor.sol";
import {GovernorCountingSimple} from "@openzeppelin/contracts/governance/extensions/GovernorCountingSimple.sol";
import {GovernorSettings} from "@openzeppelin/contracts/governance/extensions/GovernorSettings.sol";
import {GovernorTimelockControl} from "@openzeppelin/contracts/governance/extensions/GovernorTimelockControl.sol";
import {GovernorVotes} from "@openzeppelin/contracts/governance/extensions/GovernorVotes.sol";
import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";
import {IVotes} from "@openzeppelin/contracts/governance/utils/IVotes.sol";

/// @title GovernorBox
/// @notice A governor that acts through a timelock.
contract GovernorBox is Governor, GovernorSettings, GovernorCountingSimple, GovernorVotes, GovernorTimelockControl {
    /// @param token Whose holders vote.
    /// @param timelock Executes.
    constructor(IVotes token, TimelockController timelock)
        Governor("Box")
        GovernorSettings(1, 100, 1000)
        GovernorVotes(token)
        GovernorTimelockControl(timelock)
    {}

    /// @notice The least number of votes.
    /// @return The number.
    function quorum(uint256) public pure override returns (uint256) {
        return 1000;
    }

    /// @notice The state of a proposal.
    /// @param id Of the proposal.
    /// @return The state.
    function state(uint256 id) public view override(Governor, GovernorTimelockControl) returns (ProposalState) {
        return super.state(id);
    }

    /// @notice Whether a proposal has to be queued.
    /// @param id Of the proposal.
    /// @return Whether it has.
    function proposalNeedsQueuing(uint256 id) public view override(Governor, GovernorTimelockControl) returns (bool) {
        return super.proposalNeedsQueuing(id);
    }

    /// @notice The votes that a proposer needs.
    /// @return The number.
    function proposalThreshold() public view override(Governor, GovernorSettings) returns (uint256) {
        return super.proposalThreshold();
    }

    function _queueOperations(uint256 id, address[] memory targets, uint256[] memory values, bytes[] memory data, bytes32 hash)
        internal
        override(Governor, GovernorTimelockControl)
        returns (uint48)
    {
        return super._queueOperations(id, targets, values, data, hash);
    }

    function _executeOperations(uint256 id, address[] memory targets, uint256[] memory values, bytes[] memory data, bytes32 hash)
        internal
        override(Governor, GovernorTimelockControl)
    {
        super._executeOperations(id, targets, values, data, hash);
    }

    function _cancel(address[] memory targets, uint256[] memory values, bytes[] memory data, bytes32 hash)
        internal
        override(Governor, GovernorTimelockControl)
        returns (uint256)
    {
        return super._cancel(targets, values, data, hash);
    }

    function _executor() internal view override(Governor, GovernorTimelockControl) returns (address) {
        return super._executor();
    }
}
