// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title What clerks of the cooperative do
abstract contract ClerkDesk is Ownable {
    mapping(address clerk => bool) public isClerk;

    error NotClerk(address caller);

    modifier onlyClerk() {
        if (!isClerk[msg.sender]) revert NotClerk(msg.sender);
        _;
    }

    function setClerk(address clerk, bool allowed) external onlyOwner {
        isClerk[clerk] = allowed;
    }
}

/// @title Members and their shares
contract MemberRegister is ClerkDesk {
    struct Member {
        bool exists;
        string farm;
        uint256 shares;
    }

    mapping(address account => Member) public members;
    uint256 public totalShares;

    constructor() Ownable(msg.sender) {
        isClerk[msg.sender] = true;
    }

    function admit(address account, string calldata farm, uint256 shares) external onlyClerk {
        require(!members[account].exists, "already a member");
        require(shares > 0, "a member has at least one share");
        members[account] = Member(true, farm, shares);
        totalShares += shares;
    }

    function dismiss(address account) external onlyClerk {
        require(members[account].exists, "no member");
        totalShares -= members[account].shares;
        delete members[account];
    }

    function sharesOf(address account) external view returns (uint256) {
        return members[account].shares;
    }
}

/// @title What a kilogram of each crop costs, in cents
contract PriceBoard is ClerkDesk {
    mapping(string crop => uint256) private prices;

    constructor() Ownable(msg.sender) {}

    function list(string calldata crop, uint256 cents) external onlyOwner {
        prices[crop] = cents;
    }

    function raisePrice(string calldata crop, uint256 cents) external onlyClerk {
        require(prices[crop] > 0, "not listed");
        prices[crop] += cents;
    }

    function lowerPrice(string calldata crop, uint256 cents) external onlyClerk {
        require(prices[crop] > cents, "not listed, or too low");
        prices[crop] -= cents;
    }

    function priceOf(string calldata crop) external view returns (uint256) {
        require(prices[crop] > 0, "not listed");
        return prices[crop];
    }
}

/// @title Goods that the cooperative orders for its members
contract GoodsOrders is ClerkDesk {
    struct Order {
        string goods;
        uint256 quantity;
        address deliverTo;
        bool express;
    }

    mapping(uint256 orderId => Order) public orders;
    uint256 public lastOrder = 100;

    constructor() Ownable(msg.sender) {
        isClerk[msg.sender] = true;
    }

    function placeOrder(string calldata goods, uint256 quantity, address deliverTo, bool express)
        external
        onlyClerk
        returns (uint256 orderId)
    {
        require(quantity > 0, "nothing ordered");
        orderId = ++lastOrder;
        orders[orderId] = Order(goods, quantity, deliverTo, express);
    }

    function cancelOrder(uint256 orderId) external onlyClerk {
        require(orders[orderId].quantity > 0, "no such order");
        delete orders[orderId];
    }
}

/// @title A number as a text
contract OfficeNumber is ToolResultConverter {
    function convertToString(bytes memory result) external pure returns (string memory) {
        return Strings.toString(abi.decode(result, (uint256)));
    }
}
