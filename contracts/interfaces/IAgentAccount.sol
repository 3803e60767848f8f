// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title What the tools of an agent need of the account that holds its assets
interface IAgentAccount {
    /// @notice The only address that may run the account's tools.
    function agent() external view returns (address);

    /// @notice Calls a function of a contract as the account. For the account's tools, each for its own functions.
    /// @dev Reverts where the call reverts, and where the target has no code.
    /// @param target the contract
    /// @param value wei of the account that go with the call
    /// @param data the calldata, at least a selector
    /// @return output what the function returned, cut at a limit of the account
    function execute(address target, uint256 value, bytes calldata data) external returns (bytes memory output);
}
