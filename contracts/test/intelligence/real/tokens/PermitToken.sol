// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20FlashMint} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20FlashMint.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title An ERC-20 token with approvals by signature and flash loans
contract PermitToken is ERC20Permit, ERC20FlashMint, Ownable {
    /// @notice Base units that a flash loan costs.
    uint256 public loanFee;

    /// @param owner_ gets the supply and sets the fee
    constructor(address owner_) ERC20("Permit Token", "PRMT") ERC20Permit("Permit Token") Ownable(owner_) {
        _mint(owner_, 1_000_000 ether);
    }

    /// @notice Sets the fee of flash loans, in base units. For the owner.
    function setLoanFee(uint256 fee) external onlyOwner {
        loanFee = fee;
    }

    function _flashFee(address, uint256) internal view override returns (uint256) {
        return loanFee;
    }

    function _flashFeeReceiver() internal view override returns (address) {
        return owner();
    }
}
