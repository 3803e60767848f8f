// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import "@openzeppelin/contracts/access/Ownable.sol";

contract Armory is Ownable {
    struct Item {
        string name;
        uint256 stock;
        bool locked;
    }

    struct Checkout {
        uint256 quantity;
        uint256 untilSeason;
    }

    event CheckedOut(uint256 indexed itemId, address indexed member, uint256 quantity, uint256 untilSeason);
    event CheckedIn(uint256 indexed itemId, address indexed member, uint256 quantity);
    event Forged(uint256 indexed itemId, uint256 quantity);
    event Scrapped(uint256 indexed itemId, uint256 quantity);

    address public quartermaster;
    mapping(uint256 => Item) public items;
    mapping(uint256 => mapping(address => Checkout)) public checkouts;

    modifier onlyQuartermaster() {
        require(msg.sender == quartermaster || msg.sender == owner(), "not the quartermaster");
        _;
    }

    modifier known(uint256 itemId) {
        require(bytes(items[itemId].name).length > 0, "unknown item");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setQuartermaster(address account) external onlyOwner {
        quartermaster = account;
    }

    function addItem(uint256 itemId, string calldata name, uint256 stock_) external onlyOwner {
        items[itemId] = Item(name, stock_, false);
    }

    function checkOut(uint256 itemId, address member, uint256 quantity, uint256 untilSeason)
        external
        onlyQuartermaster
        known(itemId)
    {
        Item storage item = items[itemId];
        require(!item.locked, "locked");
        require(quantity > 0 && quantity <= item.stock, "not enough in stock");
        item.stock -= quantity;
        Checkout storage checkout = checkouts[itemId][member];
        checkout.quantity += quantity;
        checkout.untilSeason = untilSeason;
        emit CheckedOut(itemId, member, quantity, untilSeason);
    }

    function checkIn(uint256 itemId, address member, uint256 quantity) external onlyQuartermaster known(itemId) {
        require(quantity > 0 && quantity <= checkouts[itemId][member].quantity, "member does not have that many");
        checkouts[itemId][member].quantity -= quantity;
        items[itemId].stock += quantity;
        emit CheckedIn(itemId, member, quantity);
    }

    function lock(uint256 itemId) external onlyQuartermaster known(itemId) {
        require(!items[itemId].locked, "already locked");
        items[itemId].locked = true;
    }

    function unlock(uint256 itemId) external onlyQuartermaster known(itemId) {
        require(items[itemId].locked, "not locked");
        items[itemId].locked = false;
    }

    function forge(uint256 itemId, uint256 quantity) external onlyQuartermaster known(itemId) {
        require(quantity > 0, "nothing to forge");
        items[itemId].stock += quantity;
        emit Forged(itemId, quantity);
    }

    function scrap(uint256 itemId, uint256 quantity) external onlyQuartermaster known(itemId) {
        require(quantity > 0 && quantity <= items[itemId].stock, "not enough in stock");
        items[itemId].stock -= quantity;
        emit Scrapped(itemId, quantity);
    }

    function stock(uint256 itemId) external view known(itemId) returns (uint256) {
        return items[itemId].stock;
    }
}
