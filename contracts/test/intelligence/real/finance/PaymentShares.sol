// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Splits payments among payees by their shares
/// @dev The rules of OpenZeppelin 4's PaymentSplitter, which its version 5 no longer has.
contract PaymentShares {
    using SafeERC20 for IERC20;

    /// @notice An account without shares.
    error NoShares(address account);

    /// @notice Nothing is due to the account.
    error NothingDue(address account);

    /// @notice Payees and shares have different lengths, or there are none.
    error InvalidShares();

    /// @notice Shares of all payees.
    uint256 public totalShares;

    /// @notice Wei paid out.
    uint256 public totalReleased;

    /// @notice Shares of a payee.
    mapping(address payee => uint256) public sharesOf;

    /// @notice Wei paid to a payee.
    mapping(address payee => uint256) public releasedTo;

    /// @notice Base units of a token paid out.
    mapping(IERC20 token => uint256) public totalTokensReleased;

    /// @notice Base units of a token paid to a payee.
    mapping(IERC20 token => mapping(address payee => uint256)) public tokensReleasedTo;

    /// @param payees who gets paid
    /// @param shares how much each gets, relative to the others
    constructor(address[] memory payees, uint256[] memory shares) payable {
        if (payees.length == 0 || payees.length != shares.length) revert InvalidShares();
        for (uint256 index = 0; index < payees.length; ++index) {
            sharesOf[payees[index]] += shares[index];
            totalShares += shares[index];
        }
    }

    receive() external payable {}

    /// @notice Pays a payee the wei that are due. Anybody may call it.
    function release(address payable account) external {
        uint256 due = releasable(account);
        if (due == 0) revert NothingDue(account);
        totalReleased += due;
        releasedTo[account] += due;
        Address.sendValue(account, due);
    }

    /// @notice Pays a payee the tokens that are due. Anybody may call it.
    function releaseToken(IERC20 token, address account) external {
        uint256 due = releasableToken(token, account);
        if (due == 0) revert NothingDue(account);
        totalTokensReleased[token] += due;
        tokensReleasedTo[token][account] += due;
        token.safeTransfer(account, due);
    }

    /// @notice Returns the wei that are due to a payee.
    function releasable(address account) public view returns (uint256) {
        uint256 received = address(this).balance + totalReleased;
        return _share(account, received) - releasedTo[account];
    }

    /// @notice Returns the base units of a token that are due to a payee.
    function releasableToken(IERC20 token, address account) public view returns (uint256) {
        uint256 received = token.balanceOf(address(this)) + totalTokensReleased[token];
        return _share(account, received) - tokensReleasedTo[token][account];
    }

    function _share(address account, uint256 received) private view returns (uint256) {
        uint256 shares = sharesOf[account];
        if (shares == 0) revert NoShares(account);
        return received * shares / totalShares;
    }
}
