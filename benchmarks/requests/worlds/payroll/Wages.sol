// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Pays the company's wages in one token
contract Wages is Ownable {
    using SafeERC20 for IERC20;

    error NotPayer(address caller);
    error LengthMismatch(uint256 recipients, uint256 amounts);

    event Funded(address indexed from, uint256 amount);
    event WagePaid(address indexed recipient, uint256 amount);

    /// @notice The token in which wages are paid.
    IERC20 public immutable currency;

    /// @notice Who may pay wages.
    address public payer;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    /// @notice Names who may pay wages. For the owner.
    function setPayer(address newPayer) external onlyOwner {
        payer = newPayer;
    }

    /// @notice Adds money to the fund that wages are paid from.
    /// @param amount how much to add
    function fund(uint256 amount) external {
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit Funded(msg.sender, amount);
    }

    /// @notice Pays wages to a list of people from the fund.
    /// @param recipients who is paid
    /// @param amounts what each of them gets, in the same order
    function payBatch(address[] calldata recipients, uint256[] calldata amounts) external {
        if (msg.sender != payer) revert NotPayer(msg.sender);
        if (recipients.length != amounts.length) revert LengthMismatch(recipients.length, amounts.length);
        for (uint256 i = 0; i < recipients.length; i++) {
            currency.safeTransfer(recipients[i], amounts[i]);
            emit WagePaid(recipients[i], amounts[i]);
        }
    }

    /// @notice Shows how much is left in the fund.
    function available() external view returns (uint256) {
        return currency.balanceOf(address(this));
    }
}
