// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable2Step, Ownable} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC1363} from "@openzeppelin/contracts/token/ERC20/extensions/ERC1363.sol";

/// @title An ERC-20 token that calls its receivers
contract CallbackToken is ERC1363, Ownable2Step {
    /// @param owner_ may mint and burn
    constructor(address owner_) ERC20("Callback Token", "CALL") Ownable(owner_) {}

    /// @notice Creates `amount` base units for `to`. For the owner.
    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }

    /// @notice Destroys `amount` base units of `from`. For the owner.
    function seize(address from, uint256 amount) external onlyOwner {
        _burn(from, amount);
    }
}
