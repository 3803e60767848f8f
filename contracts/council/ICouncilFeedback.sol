// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What a council reads of and writes to ERC-8004's reputation registry
interface ICouncilFeedback {
    /// @notice Gives feedback on an agent. Not for its owner.
    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2,
        string calldata endpoint,
        string calldata feedbackURI,
        bytes32 feedbackHash
    ) external;

    /// @notice Returns the mean of the feedback that these clients gave with these tags; empty tags are any.
    function getSummary(uint256 agentId, address[] calldata clientAddresses, string calldata tag1, string calldata tag2)
        external
        view
        returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals);
}
