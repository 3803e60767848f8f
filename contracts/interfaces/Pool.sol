// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title A liquidity pool, as the ERC's WalletAgent sees it
/// @notice Every depositor has a balance of its own in every asset. The unit of the amounts is the
///   implementation's: LiquidityPool counts base units, WalletAccount whole tokens.
interface Pool {
    /// @notice Moves `amount` of `asset` from the caller into the pool.
    function deploy(address asset, uint256 amount) external;

    /// @notice Moves `amount` of `asset` from the pool back to the caller.
    function withdraw(address asset, uint256 amount) external;

    /// @notice Returns what the caller has in the pool.
    function balance(address asset) external returns (uint256);
}
