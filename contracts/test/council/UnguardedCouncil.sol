// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {StorageSlot} from "@openzeppelin/contracts/utils/StorageSlot.sol";
import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {ICouncilReputation} from "../../council/ICouncilReputation.sol";
import {Terms} from "../../council/ICouncil.sol";

/// @title A council that can be entered again while it calls a token. For tests: it can be robbed
contract UnguardedCouncil is AgentCouncilOracle {
    /// @dev Whether it also sends before it updates.
    bool private immutable updatesLate;

    constructor(Terms memory terms, ICouncilReputation reputation_, bool updatesLate_)
        AgentCouncilOracle(terms, reputation_)
    {
        updatesLate = updatesLate_;
    }

    function withdraw(address token, address payable to) external override returns (uint256 amount) {
        amount = _claimable[token][msg.sender];
        require(amount > 0);
        if (!updatesLate) _claimable[token][msg.sender] = 0;
        _send(token, to, amount);
        _claimable[token][msg.sender] = 0;
    }

    function _pull(address token, uint256 amount) internal override {
        StorageSlot.getUint256Slot(_reentrancyGuardStorageSlot()).value = 1;
        super._pull(token, amount);
    }
}
