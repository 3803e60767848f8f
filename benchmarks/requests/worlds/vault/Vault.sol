// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @title A token that its holders can burn
contract Gold is ERC20Burnable {
    constructor() ERC20("Gold", "GOLD") {
        _mint(msg.sender, 1_000_000 * 10 ** decimals());
    }
}

/// @title A vault of ERC-4626
contract Vault is ERC4626 {
    constructor(IERC20 asset_) ERC20("Gold Vault", "vGOLD") ERC4626(asset_) {}
}
