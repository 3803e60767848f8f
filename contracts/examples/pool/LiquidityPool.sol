// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Pool} from "../../interfaces/Pool.sol";
import {TokenCall} from "../../libraries/TokenCall.sol";

/// @title A pool that holds ERC-20 tokens for its depositors
/// @notice Amounts are in base units of the asset. What a depositor deployed, that depositor alone can withdraw.
///   The pool pays no interest. Tokens whose balances change by themselves are not for it.
contract LiquidityPool is Pool {
    using TokenCall for address;

    event Deployed(address indexed depositor, address indexed asset, uint256 amount);
    event Withdrawn(address indexed depositor, address indexed asset, uint256 amount);

    /// @notice The depositor has less in the pool than it wants to withdraw.
    error InsufficientPoolBalance(address depositor, address asset, uint256 balance, uint256 needed);

    /// @notice Another amount arrived than the depositor sent: the token takes a fee, or called back.
    error WrongAmountReceived(address asset, uint256 received, uint256 expected);

    /// @notice What a depositor has in the pool, in base units of the asset.
    mapping(address depositor => mapping(address asset => uint256)) public balanceOf;

    /// @inheritdoc Pool
    /// @dev The caller must have approved the pool for `amount`.
    function deploy(address asset, uint256 amount) external {
        balanceOf[msg.sender][asset] += amount;
        emit Deployed(msg.sender, asset, amount);

        uint256 before = asset.balanceOf(address(this));
        asset.transferFrom(msg.sender, address(this), amount);
        uint256 received = asset.balanceOf(address(this)) - before;
        if (received != amount) revert WrongAmountReceived(asset, received, amount);
    }

    /// @inheritdoc Pool
    function withdraw(address asset, uint256 amount) external {
        uint256 deposited = balanceOf[msg.sender][asset];
        if (deposited < amount) revert InsufficientPoolBalance(msg.sender, asset, deposited, amount);
        balanceOf[msg.sender][asset] = deposited - amount;
        emit Withdrawn(msg.sender, asset, amount);

        asset.transfer(msg.sender, amount);
    }

    /// @inheritdoc Pool
    function balance(address asset) external view returns (uint256) {
        return balanceOf[msg.sender][asset];
    }
}
