// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @title An ERC-4626 vault
contract TokenVault is ERC4626 {
    /// @param asset_ the token that the vault holds
    constructor(IERC20 asset_) ERC20("Token Vault", "vTKN") ERC4626(asset_) {}
}
