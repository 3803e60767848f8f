// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {TokenCall} from "../../libraries/TokenCall.sol";
import {SwapPool} from "./SwapPool.sol";

/// @title Holds the ether and the tokens that an agent trades with
/// @notice The agent's tools call it: a tool can't send ether, and an approval by one tool is no approval by
///   another, so what they share is here. Only tools that the owner added may.
contract TradingAccount {
    using TokenCall for address;

    /// @notice Somebody else than the agent's tools used the account.
    error NotTool(address caller);

    /// @notice Somebody else than the owner tried to add a tool.
    error NotOwner(address caller);

    /// @notice The deployer.
    address public immutable owner;

    /// @notice Where it trades, and the token it trades in.
    SwapPool public immutable pool;

    /// @notice The tools that may use this account.
    mapping(address tool => bool) public isTool;

    modifier onlyTool() {
        if (!isTool[msg.sender]) revert NotTool(msg.sender);
        _;
    }

    constructor(SwapPool _pool) payable {
        owner = msg.sender;
        pool = _pool;
    }

    receive() external payable {}

    /// @notice Lets a tool of the agent use this account.
    function addTool(address tool) external {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        isTool[tool] = true;
    }

    /// @notice Lets a spender take tokens of this account.
    function approve(address spender, uint256 amount) external onlyTool {
        pool.token().approve(spender, amount);
    }

    /// @notice Swaps ether of this account. What routers take as the call's value is the first argument.
    function swapExactETHForTokens(
        uint256 amountIn,
        uint256 amountOutMin,
        address[] memory path,
        address to,
        uint256 deadline
    ) external onlyTool returns (uint256[] memory amounts) {
        return pool.swapExactETHForTokens{value: amountIn}(amountOutMin, path, to, deadline);
    }

    /// @notice Swaps tokens of this account, for which it must have approved the pool.
    function swapExactTokensForETH(
        uint256 amountIn,
        uint256 amountOutMin,
        address[] memory path,
        address to,
        uint256 deadline
    ) external onlyTool returns (uint256[] memory amounts) {
        return pool.swapExactTokensForETH(amountIn, amountOutMin, path, to, deadline);
    }
}
