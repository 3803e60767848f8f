// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @notice A function that the model can choose; it comes back as calldata.
/// @param signature such as `transfer(address to, uint256 amount)`
/// @param description when to use it
struct OnchainTool {
    string signature;
    string description;
}

/// @title The methods of Somnia's language model agent
/// @notice Nobody calls them: their calldata are payloads, and what they return is a response's `result`.
interface ISomniaLanguageModel {
    /// @notice Answers a prompt; with one of the allowed values if there are any.
    function inferString(
        string memory prompt,
        string memory system,
        bool chainOfThought,
        string[] memory allowedValues
    ) external returns (string memory response);

    /// @notice Answers a prompt with an integer in a range.
    function inferNumber(
        string memory prompt,
        string memory system,
        int256 minValue,
        int256 maxValue,
        bool chainOfThought
    ) external returns (int256 response);

    /// @notice Answers the last message of a conversation.
    /// @param roles `system`, `user` or `assistant`
    function inferChat(string[] memory roles, string[] memory messages, bool chainOfThought)
        external
        returns (string memory response);

    /// @notice The same with tools.
    /// @return finishReason `stop`, or `tool_calls`
    /// @return response the answer; empty for `tool_calls`
    /// @return updatedRoles the roles with the model's own
    /// @return updatedMessages the messages with the model's own
    /// @return pendingToolCallIds names each call
    /// @return pendingToolCalls the calldata of each call
    function inferToolsChat(
        string[] memory roles,
        string[] memory messages,
        string[] memory mcpServerUrls,
        OnchainTool[] memory onchainTools,
        uint256 maxIterations,
        bool chainOfThought
    )
        external
        returns (
            string memory finishReason,
            string memory response,
            string[] memory updatedRoles,
            string[] memory updatedMessages,
            string[] memory pendingToolCallIds,
            bytes[] memory pendingToolCalls
        );
}
