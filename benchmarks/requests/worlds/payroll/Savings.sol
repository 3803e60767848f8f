// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @title Savings that earn interest, as shares
contract Savings is ERC4626 {
    constructor(IERC20 asset_) ERC20("Savings USDS", "svUSDS") ERC4626(asset_) {}
}
