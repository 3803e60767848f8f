// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token whose sender pays a fee on top of what it sends
contract SurchargeToken is ERC20 {
    uint256 public constant FEE = 5;

    constructor(uint256 supply) ERC20("Surcharge", "SUR") {
        _mint(msg.sender, supply);
    }

    function _update(address from, address to, uint256 amount) internal override {
        super._update(from, to, amount);
        if (from != address(0) && to != address(0)) super._update(from, address(0), FEE);
    }
}
