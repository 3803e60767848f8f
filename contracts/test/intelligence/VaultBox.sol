// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title VaultBox
/// @notice An ERC-4626 vault.
contract VaultBox is ERC4626 {
    /// @param asset_ The token of its assets.
    constructor(IERC20 asset_) ERC20("Vault", "vBOX") ERC4626(asset_) {}
}
