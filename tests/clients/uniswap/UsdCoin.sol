// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title A token of OpenZeppelin's with six decimals, all of it the deployer's at the start
contract UsdCoin is ERC20Permit {
    constructor(uint256 supply) ERC20("USD Coin", "USDC") ERC20Permit("USD Coin") {
        _mint(msg.sender, supply);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }
}
