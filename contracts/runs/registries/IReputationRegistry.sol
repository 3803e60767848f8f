// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title ERC-8004's reputation registry
/// @notice Clients give feedback about agents. Anybody may; feedback is free, so an average over all clients says nothing.
interface IReputationRegistry {
    event NewFeedback(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        int128 value,
        uint8 valueDecimals,
        string indexed indexedTag1,
        string tag1,
        string tag2,
        string endpoint,
        string feedbackURI,
        bytes32 feedbackHash
    );

    event FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex);

    event ResponseAppended(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        address indexed responder,
        string responseURI,
        bytes32 responseHash
    );

    /// @notice Returns the identity registry whose agents these are.
    function getIdentityRegistry() external view returns (address);

    /// @notice Gives feedback. Not for the agent's owner and operators.
    /// @param value from -10^38 to 10^38
    /// @param valueDecimals decimals of the value, 0 to 18
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

    /// @notice Revokes feedback of the caller.
    /// @param feedbackIndex from 1 on
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external;

    /// @notice Adds a response to feedback. Anybody may.
    function appendResponse(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        string calldata responseURI,
        bytes32 responseHash
    ) external;

    /// @notice Returns the number of a client's feedback entries.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64);

    /// @notice Returns a feedback entry.
    function readFeedback(uint256 agentId, address clientAddress, uint64 feedbackIndex)
        external
        view
        returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked);

    /// @notice Returns number and average of the feedback of named clients that is not revoked.
    /// @param clientAddresses at least one
    /// @param tag1 empty for all
    /// @param tag2 empty for all
    /// @return count number of entries
    /// @return summaryValue average, rounded toward zero
    /// @return summaryValueDecimals the most frequent number of decimals, the lowest of several
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals);

    /// @notice Returns the feedback of named clients, or of all if none is named.
    function readAllFeedback(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2,
        bool includeRevoked
    )
        external
        view
        returns (
            address[] memory clients,
            uint64[] memory feedbackIndexes,
            int128[] memory values,
            uint8[] memory valueDecimals,
            string[] memory tag1s,
            string[] memory tag2s,
            bool[] memory revokedStatuses
        );

    /// @notice Returns the number of responses.
    /// @param clientAddress zero for all clients
    /// @param feedbackIndex zero for all of the client's
    /// @param responders none for all
    function getResponseCount(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        address[] calldata responders
    ) external view returns (uint64 count);

    /// @notice Returns the clients that gave feedback.
    function getClients(uint256 agentId) external view returns (address[] memory);

    /// @notice Returns the version of the interface.
    function getVersion() external pure returns (string memory);
}
