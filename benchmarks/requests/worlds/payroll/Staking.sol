// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Stakes of one token, which earn rewards in the same token
contract Staking {
    using SafeERC20 for IERC20;

    error StakeTooLow(uint256 amount, uint256 staked);
    error NoRewards();

    event Staked(address indexed account, uint256 amount);
    event Unstaked(address indexed account, uint256 amount);
    event RewardPaid(address indexed account, uint256 amount);
    event RewardsAdded(uint256 amount);

    uint256 private constant SCALE = 1e18;

    IERC20 public immutable stakingToken;
    uint256 public totalStaked;
    uint256 public rewardPerToken;

    mapping(address => uint256) public staked;
    mapping(address => uint256) private rewards;
    mapping(address => uint256) private paidPerToken;

    constructor(IERC20 stakingToken_) {
        stakingToken = stakingToken_;
    }

    modifier updated(address account) {
        rewards[account] = earned(account);
        paidPerToken[account] = rewardPerToken;
        _;
    }

    /// @notice Stakes tokens.
    /// @param amount how many
    function stake(uint256 amount) external {
        stakeFor(msg.sender, amount);
    }

    /// @notice Stakes tokens in the name of another account.
    function stakeFor(address account, uint256 amount) public updated(account) {
        totalStaked += amount;
        staked[account] += amount;
        stakingToken.safeTransferFrom(msg.sender, address(this), amount);
        emit Staked(account, amount);
    }

    /// @notice Takes staked tokens back.
    /// @param amount how many
    function unstake(uint256 amount) external updated(msg.sender) {
        if (amount > staked[msg.sender]) revert StakeTooLow(amount, staked[msg.sender]);
        totalStaked -= amount;
        staked[msg.sender] -= amount;
        stakingToken.safeTransfer(msg.sender, amount);
        emit Unstaked(msg.sender, amount);
    }

    /// @notice Pays out the rewards that the caller earned.
    function claimRewards() external updated(msg.sender) {
        uint256 amount = rewards[msg.sender];
        if (amount == 0) revert NoRewards();
        rewards[msg.sender] = 0;
        stakingToken.safeTransfer(msg.sender, amount);
        emit RewardPaid(msg.sender, amount);
    }

    /// @notice Shows the rewards that an account earned and hasn't claimed.
    function earned(address account) public view returns (uint256) {
        return rewards[account] + staked[account] * (rewardPerToken - paidPerToken[account]) / SCALE;
    }

    /// @notice Shares tokens out to all stakers as rewards.
    function addRewards(uint256 amount) external {
        rewardPerToken += amount * SCALE / totalStaked;
        stakingToken.safeTransferFrom(msg.sender, address(this), amount);
        emit RewardsAdded(amount);
    }
}
