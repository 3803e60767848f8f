// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @notice How Somnia's validators agree. One worker answers here, so it changes nothing.
enum ConsensusType {
    Majority,
    Threshold
}

/// @notice Where a request is.
enum ResponseStatus {
    None,
    Pending,
    Success,
    Failed,
    TimedOut
}

/// @notice What one validator said: here the oracle's worker.
/// @param result `abi.encode` of what the method returns, or the executor's refusal
/// @param receipt zero here
/// @param executionCost the fee, in wei
struct Response {
    address validator;
    bytes result;
    ResponseStatus status;
    uint256 receipt;
    uint256 timestamp;
    uint256 executionCost;
}

/// @notice A request as Somnia's platform shows it.
/// @param subcommittee the worker that answered
struct Request {
    uint256 id;
    address requester;
    address callbackAddress;
    bytes4 callbackSelector;
    address[] subcommittee;
    Response[] responses;
    uint256 responseCount;
    uint256 failureCount;
    uint256 threshold;
    uint256 createdAt;
    uint256 deadline;
    ResponseStatus status;
    ConsensusType consensusType;
    uint256 remainingBudget;
    uint256 perAgentBudget;
}

/// @title What Somnia's agent platform offers to contracts
/// @notice Written after docs.somnia.network/agents and the code that its site generates (2026).
interface ISomniaAgents {
    /// @notice A contract asks.
    event RequestCreated(
        uint256 indexed requestId,
        uint256 indexed agentId,
        uint256 perAgentBudget,
        bytes payload,
        address[] subcommittee
    );

    /// @notice A request has ended.
    event RequestFinalized(uint256 indexed requestId, ResponseStatus status);

    /// @notice Asks an agent. The value is the deposit; what is not spent goes back.
    /// @param callbackAddress is called with `(uint256 requestId, Response[], ResponseStatus, Request)`
    /// @param payload calldata of one of ISomniaLanguageModel's functions
    function createRequest(uint256 agentId, address callbackAddress, bytes4 callbackSelector, bytes calldata payload)
        external
        payable
        returns (uint256 requestId);

    /// @notice The same with a committee and a timeout in seconds.
    function createAdvancedRequest(
        uint256 agentId,
        address callbackAddress,
        bytes4 callbackSelector,
        bytes calldata payload,
        uint256 subcommitteeSize,
        uint256 threshold,
        ConsensusType consensusType,
        uint256 timeout
    ) external payable returns (uint256 requestId);

    /// @notice Returns a request.
    function getRequest(uint256 requestId) external view returns (Request memory);

    /// @notice Tells whether a request was made.
    function hasRequest(uint256 requestId) external view returns (bool);

    /// @notice Returns the least deposit, in wei.
    function getRequestDeposit() external view returns (uint256);

    /// @notice Returns the least deposit for a committee of this size, in wei.
    function getAdvancedRequestDeposit(uint256 subcommitteeSize) external view returns (uint256);
}
