// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that its issuer mints
contract Coin is ERC20, Ownable {
    uint8 private immutable places;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) ERC20(name_, symbol_) Ownable(msg.sender) {
        places = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return places;
    }

    /// @notice Creates tokens. For the issuer.
    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}
