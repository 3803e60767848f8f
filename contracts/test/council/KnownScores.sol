// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAgentCouncilOracle} from "../../council/IAgentCouncilOracle.sol";
import {ICouncilReputation} from "../../council/ICouncilReputation.sol";

/// @title A source of reputation whose scores anybody sets. For tests
contract KnownScores is ICouncilReputation {
    /// @inheritdoc ICouncilReputation
    mapping(address account => int256) public scoreOf;

    function setScores(address[] calldata accounts, int256 score) external {
        for (uint256 i = 0; i < accounts.length; i++) scoreOf[accounts[i]] = score;
    }

    /// @inheritdoc ICouncilReputation
    function enter(uint256, address) external {}

    /// @inheritdoc ICouncilReputation
    function weightOf(address) external pure returns (uint32) {
        return 1;
    }

    /// @inheritdoc ICouncilReputation
    function isCapable(address, IAgentCouncilOracle.AgentCapabilities calldata) external pure returns (bool) {
        return true;
    }
}
