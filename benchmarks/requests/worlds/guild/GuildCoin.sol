// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import "@openzeppelin/contracts/access/Ownable.sol";
import "@openzeppelin/contracts/token/ERC20/ERC20.sol";

contract GuildCoin is ERC20, Ownable {
    uint8 private immutable _places;

    constructor(string memory name_, string memory symbol_, uint8 places) ERC20(name_, symbol_) Ownable(msg.sender) {
        _places = places;
    }

    function decimals() public view override returns (uint8) {
        return _places;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}
