// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @notice What became of a request.
/// @dev None: no answer yet. Answered: the executor's result. Refused: the executor's typed error. Expired: no worker
///   answered before the deadline.
enum Outcome {
    None,
    Answered,
    Refused,
    Expired
}

/// @title Takes the answers to a client's requests
interface IAgentOracleClient {
    /// @notice Called once for each request, with at least the gas of its budget. What it returns is ignored.
    /// @dev Must refuse every sender but the oracle. Of the oracle's functions that change its state, only `request` and
    ///   `release` may be called from here. If it reverts, anybody may call it again by `IAgentOracle.retry`.
    /// @param output `Answer.output`; empty if the request expired
    function handleAnswer(uint256 requestId, Outcome outcome, bytes calldata output) external;
}
