// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title What the tools of an agent need of the account that holds its assets
/// @notice AgentAccount is one. Another contract, such as a treasury, can take its place.
interface IAgentAccount {
    /// @notice A call that a tool may make.
    /// @param target the contract
    /// @param selector the function
    /// @param maxValue the most wei that may go with one call
    /// @param spender if not zero, the address that the first argument must be, such as the spender of an approval.
    ///   An `approve` may have address zero as well: it takes the approval of an ERC-721 token's item back
    struct Permission {
        address target;
        bytes4 selector;
        uint256 maxValue;
        address spender;
    }

    /// @notice The only address that may run the account's tools.
    function agent() external view returns (address);

    /// @notice Calls a function of a contract as the account. For the account's tools, each for its own functions.
    /// @dev Reverts where the call reverts, and where the target has no code. The revert data are those of an error of
    ///   the account with the target's inside: a target whose own data arrived could imitate the end of a trial.
    /// @param target the contract
    /// @param value wei of the account that go with the call
    /// @param data the calldata, at least a selector
    /// @return output what the function returned, cut at a limit of the account
    function execute(address target, uint256 value, bytes calldata data) external returns (bytes memory output);
}
