// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";

/// @title What a council asks of a source of reputation
interface ICouncilReputation {
    /// @notice Notes the identity with which an account takes part in a request. For the oracle.
    /// @dev Reverts if the identity takes part with another account.
    function enter(uint256 requestId, address account) external;

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
