// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What ORA's Onchain AI Oracle (OAO) offers to contracts
/// @notice Written after github.com/ora-io/OAO, commit 8f76331, and the interface with data availability that its
///   deployed contracts have. Batches, revenues and tokens are left out.
interface IAIOracle {
    /// @notice Where inputs and outputs are. Only Calldata is served here.
    enum DA {
        Calldata,
        Blob,
        IPFS
    }

    /// @notice A contract asks.
    event AICallbackRequest(
        address indexed account,
        uint256 indexed requestId,
        uint256 modelId,
        bytes input,
        address callbackContract,
        uint64 gasLimit,
        bytes callbackData
    );

    /// @notice A contract asks with data availability.
    event AICallbackRequest(
        address indexed account,
        uint256 indexed requestId,
        uint256 modelId,
        bytes input,
        address callbackContract,
        uint64 gasLimit,
        bytes callbackData,
        DA inputDA,
        DA outputDA,
        uint256 batchSize
    );

    /// @notice The answer is there.
    event AICallbackResult(address indexed account, uint256 indexed requestId, address invoker, bytes output);

    /// @notice Asks a model. The value pays, `estimateFee` wei at least.
    /// @param input the prompt, as UTF-8 text
    /// @param callbackContract is called by `aiOracleCallback`; zero, with a gas limit of zero: nobody is
    /// @param callbackData comes back with the answer
    function requestCallback(
        uint256 modelId,
        bytes memory input,
        address callbackContract,
        uint64 gasLimit,
        bytes memory callbackData
    ) external payable returns (uint256 requestId);

    /// @notice Asks a model, with data availability.
    function requestCallback(
        uint256 modelId,
        bytes memory input,
        address callbackContract,
        uint64 gasLimit,
        bytes memory callbackData,
        DA inputDA,
        DA outputDA
    ) external payable returns (uint256 requestId);

    /// @notice Returns what a request costs, in wei.
    function estimateFee(uint256 modelId, uint256 gasLimit) external view returns (uint256);

    /// @notice Tells whether the answer is there and can't change.
    function isFinalized(uint256 requestId) external view returns (bool);
}
