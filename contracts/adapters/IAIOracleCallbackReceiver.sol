// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What OAO calls
interface IAIOracleCallbackReceiver {
    /// @notice Why there is no answer.
    enum AIOracleError {
        InvalidInput,
        InvalidBatchSize
    }

    /// @notice The answer of a request.
    function aiOracleCallback(uint256 requestId, bytes calldata output, bytes calldata callbackData) external;

    /// @notice A request has no answer.
    function aiOracleCallbackError(
        uint256 requestId,
        AIOracleError code,
        bytes calldata message,
        bytes calldata callbackData
    ) external;
}
