// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";

/// @title Holds a token for stakers and pays them another one
contract StakingPool is Ownable, Pausable, ReentrancyGuard {
    using SafeERC20 for IERC20;

    /// @notice More than the caller has staked.
    error InsufficientStake(uint256 staked, uint256 needed);

    /// @notice The token that is staked.
    IERC20 public immutable stakingToken;

    /// @notice The token that is paid.
    IERC20 public immutable rewardToken;

    /// @notice Base units staked by an account.
    mapping(address account => uint256) public stakeOf;

    /// @notice Base units that an account can claim.
    mapping(address account => uint256) public rewardOf;

    /// @notice Base units staked by all.
    uint256 public totalStaked;

    /// @param stakingToken_ the token that is staked
    /// @param rewardToken_ the token that is paid
    /// @param owner_ grants rewards and pauses
    constructor(IERC20 stakingToken_, IERC20 rewardToken_, address owner_) Ownable(owner_) {
        stakingToken = stakingToken_;
        rewardToken = rewardToken_;
    }

    /// @notice Stakes `amount` base units of the caller.
    function stake(uint256 amount) external whenNotPaused nonReentrant {
        stakeOf[msg.sender] += amount;
        totalStaked += amount;
        stakingToken.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Returns `amount` base units to the caller.
    function unstake(uint256 amount) external nonReentrant {
        uint256 staked = stakeOf[msg.sender];
        if (staked < amount) revert InsufficientStake(staked, amount);
        stakeOf[msg.sender] = staked - amount;
        totalStaked -= amount;
        stakingToken.safeTransfer(msg.sender, amount);
    }

    /// @notice Pays the caller's reward.
    function claim() external whenNotPaused nonReentrant {
        uint256 due = rewardOf[msg.sender];
        rewardOf[msg.sender] = 0;
        rewardToken.safeTransfer(msg.sender, due);
    }

    /// @notice Grants `amount` base units to an account. For the owner, who pays them.
    function reward(address account, uint256 amount) external onlyOwner {
        rewardOf[account] += amount;
        rewardToken.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Stops stakes and claims. For the owner.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Allows stakes and claims again. For the owner.
    function unpause() external onlyOwner {
        _unpause();
    }
}
