// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Pool} from "../../interfaces/Pool.sol";
import {TokenCall} from "../../libraries/TokenCall.sol";

/// @title Holds the ERC-20 tokens of a WalletAgent and is its only depositor in the pool
/// @notice Send tokens to this contract to let the agent work with them. It has two sets of doors:
///   the agent's tools use the ERC's `Pool` interface, in WHOLE tokens ("deposit 10 USDC" is `deploy(USDC, 10)`);
///   the owner's functions start with `owner` and count base units, as the token does.
///   Tools only move tokens between this account and the pool; only the owner moves them elsewhere.
/// @dev In the ERC the pool sees each tool as the depositor, so one tool can't withdraw what another deposited.
contract WalletAccount is Pool {
    using TokenCall for address;

    /// @notice Somebody else than the agent's tools used their doors.
    error NotTool(address caller);

    /// @notice Somebody else than the owner used the owner's doors.
    error NotOwner(address caller);

    /// @notice Somebody else than the agent tried to add a tool.
    error NotAgent(address caller);

    /// @notice So many whole tokens don't fit into a uint256 of base units.
    error AmountTooLarge(address asset, uint256 amount);

    /// @notice A tool was given access to the account.
    event ToolAdded(address indexed tool);

    /// @notice The agent, which created this account.
    address public immutable agent;

    /// @notice The owner of the tokens.
    address public immutable owner;

    /// @notice The pool into which deposits go. It counts base units.
    Pool public immutable pool;

    /// @notice The tools that may use this account.
    mapping(address tool => bool) public isTool;

    modifier onlyTool() {
        if (!isTool[msg.sender]) revert NotTool(msg.sender);
        _;
    }

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    /// @notice Creates an account for the agent that calls.
    constructor(address _owner, Pool _pool) {
        agent = msg.sender;
        owner = _owner;
        pool = _pool;
    }

    /// @notice Lets a tool of the agent use this account.
    function addTool(address tool) external {
        if (msg.sender != agent) revert NotAgent(msg.sender);
        isTool[tool] = true;
        emit ToolAdded(tool);
    }

    /// @notice Moves tokens from this account into the pool. For the agent's tools.
    /// @param amount in whole tokens
    function deploy(address asset, uint256 amount) external onlyTool {
        _deposit(asset, _baseUnits(asset, amount));
    }

    /// @notice Moves tokens from the pool back to this account. For the agent's tools.
    /// @param amount in whole tokens
    function withdraw(address asset, uint256 amount) external onlyTool {
        pool.withdraw(asset, _baseUnits(asset, amount));
    }

    /// @notice Returns what this account has in the pool. For the agent's tools.
    /// @return in whole tokens, rounded down
    function balance(address asset) external onlyTool returns (uint256) {
        return pool.balance(asset) / _wholeToken(asset);
    }

    /// @notice Moves tokens from this account into the pool. For the owner.
    /// @param amount in base units
    function ownerDeposit(address asset, uint256 amount) external onlyOwner {
        _deposit(asset, amount);
    }

    /// @notice Moves tokens from the pool back to this account. For the owner.
    /// @param amount in base units
    function ownerWithdraw(address asset, uint256 amount) external onlyOwner {
        pool.withdraw(asset, amount);
    }

    /// @notice Sends tokens of this account to anybody. For the owner.
    /// @param amount in base units
    function ownerTransfer(address asset, address to, uint256 amount) external onlyOwner {
        asset.transfer(to, amount);
    }

    /// @notice Returns what this account has in the pool. For everybody.
    /// @return in base units
    function poolBalance(address asset) external returns (uint256) {
        return pool.balance(asset);
    }

    function _deposit(address asset, uint256 units) private {
        asset.approve(address(pool), units);
        pool.deploy(asset, units);
    }

    function _baseUnits(address asset, uint256 amount) private view returns (uint256) {
        uint256 one = _wholeToken(asset);
        if (amount > type(uint256).max / one) revert AmountTooLarge(asset, amount);
        return amount * one;
    }

    function _wholeToken(address asset) private view returns (uint256) {
        uint256 decimals = asset.decimals();
        if (decimals > 77) revert AmountTooLarge(asset, 1); // 10 ** 78 > type(uint256).max
        return 10 ** decimals;
    }
}
