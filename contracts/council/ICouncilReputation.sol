// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";

/// @title What a council asks of a source of reputation
interface ICouncilReputation {
    /// @notice Returns the score of an account in hundredths.
    function scoreOf(address account) external view returns (int256);

    /// @notice Returns the weight of an account's vote and reward, from 1 on.
    function weightOf(address account) external view returns (uint32);

    /// @notice Tells whether an account declares all of these capabilities and domains.
    function isCapable(address account, IAgentCouncilOracle.AgentCapabilities calldata required)
        external
        view
        returns (bool);
}
