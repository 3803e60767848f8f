// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title A requester that wants to be called when its request ends
interface ICouncilClient {
    /// @notice Takes the end of a request. Check that the sender is the oracle.
    /// @param resolved false where the request failed
    function handleResolution(uint256 requestId, bool resolved, bytes calldata finalAnswer) external;
}
