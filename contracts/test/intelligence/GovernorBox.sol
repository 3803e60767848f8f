// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Governor} from "@openzeppelin/contracts/governance/Governor.sol";
import {GovernorCountingSimple} from "@openzeppelin/contracts/governance/extensions/GovernorCountingSimple.sol";
import {GovernorSettings} from "@openzeppelin/contracts/governance/extensions/GovernorSettings.sol";
import {GovernorTimelockControl} from "@openzeppelin/contracts/governance/extensions/GovernorTimelockControl.sol";
import {GovernorVotes} from "@openzeppelin/contracts/governance/extensions/GovernorVotes.sol";
import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";
import {IVotes} from "@openzeppelin/contracts/governance/utils/IVotes.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";

/// @title VotesBox
/// @notice A token whose holders vote.
contract VotesBox is ERC20, ERC20Votes {
    /// @param holder Has all tokens.
    constructor(address holder) ERC20("Votes", "VOTE") EIP712("Votes", "1") {
        _mint(holder, 10 ** 24);
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }
}

/// @title TimelockBox
/// @notice OpenZeppelin's timelock.
contract TimelockBox is TimelockController {
    /// @param proposers Propose and cancel.
    /// @param executors Execute.
    /// @param admin Grants roles.
    constructor(address[] memory proposers, address[] memory executors, address admin)
        TimelockController(1 days, proposers, executors, admin)
    {}
}

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
