// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20Wrapper} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Wrapper.sol";

/// @title An ERC-20 token that stands for another one
contract WrapperToken is ERC20Wrapper, Ownable {
    /// @param underlying_ the token that is wrapped
    /// @param owner_ may recover tokens sent here by mistake
    constructor(IERC20 underlying_, address owner_)
        ERC20("Wrapper Token", "WRAP")
        ERC20Wrapper(underlying_)
        Ownable(owner_)
    {}

    /// @notice Mints for `to` what was sent here without a deposit. For the owner.
    function recover(address to) external onlyOwner returns (uint256) {
        return _recover(to);
    }
}
