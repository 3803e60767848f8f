// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

contract ArcadePrizes is ERC1155, Ownable {
    constructor() ERC1155("https://prizes.example/{id}.json") Ownable(msg.sender) {}

    function mint(address to, uint256 id, uint256 amount) external onlyOwner {
        _mint(to, id, amount, "");
    }
}

/// @title What prizes cost at the counter
contract PrizeCounter is Ownable {
    error NotAttendant(address caller);
    error NoSuchPrize(uint8 prize);
    error PriceTooHigh(uint256 tickets);

    address public attendant;
    mapping(uint8 prize => uint256) public priceOf;

    constructor() Ownable(msg.sender) {}

    function setAttendant(address newAttendant) external onlyOwner {
        attendant = newAttendant;
    }

    /// @notice Sets how many paper tickets a prize costs.
    /// @param prize 1 = plush bear, 2 = lava lamp, 3 = yo-yo, 4 = kite, 5 = whistle
    /// @param tickets 1 to 5000
    function setPrice(uint8 prize, uint256 tickets) external {
        if (msg.sender != attendant) revert NotAttendant(msg.sender);
        if (prize == 0 || prize > 5) revert NoSuchPrize(prize);
        if (tickets == 0 || tickets > 5000) revert PriceTooHigh(tickets);
        priceOf[prize] = tickets;
    }
}
