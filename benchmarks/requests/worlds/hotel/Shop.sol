// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Bread that customers have ordered for this month
contract BreadOrders is Ownable {
    enum Bread {
        RyeLoaf,
        Baguette,
        Pretzel,
        Croissant
    }

    enum Status {
        None,
        Open,
        Collected,
        Cancelled
    }

    struct Order {
        address customer;
        Bread bread;
        uint8 day;
        Status status;
        uint256 quantity;
    }

    error NotTheCounter(address caller);
    error NoSuchDay(uint8 day);
    error TooMany(uint256 pieces);
    error NotOpen(uint256 orderId);

    event Ordered(uint256 indexed orderId, address indexed customer, Bread bread, uint256 quantity, uint8 day);
    event Changed(uint256 indexed orderId, uint256 quantity);
    event Closed(uint256 indexed orderId, Status status);

    uint256 public constant PIECES_A_DAY = 300;

    address public counter;
    uint256 public orderCount;
    mapping(uint256 orderId => Order) public orders;
    mapping(uint8 day => uint256) private due;

    constructor() Ownable(msg.sender) {}

    modifier onlyCounter() {
        if (msg.sender != counter && msg.sender != owner()) revert NotTheCounter(msg.sender);
        _;
    }

    function setCounter(address newCounter) external onlyOwner {
        counter = newCounter;
    }

    /// @notice Enters an order of a customer.
    /// @param customer who ordered it
    /// @param bread 0 = rye loaf, 1 = baguette, 2 = pretzel, 3 = croissant
    /// @param quantity how many pieces
    /// @param day day of the month on which it is collected, 1 to 31
    /// @return orderId number of the order
    function placeOrder(address customer, Bread bread, uint256 quantity, uint8 day)
        external
        onlyCounter
        returns (uint256 orderId)
    {
        if (day == 0 || day > 31) revert NoSuchDay(day);
        orderId = ++orderCount;
        orders[orderId] = Order(customer, bread, day, Status.Open, quantity);
        _addDue(day, quantity);
        emit Ordered(orderId, customer, bread, quantity, day);
    }

    /// @notice Changes how many pieces an order has.
    /// @param orderId number of the order
    /// @param quantity how many pieces from now on
    function changeQuantity(uint256 orderId, uint256 quantity) external onlyCounter {
        Order storage order = _open(orderId);
        due[order.day] -= order.quantity;
        order.quantity = quantity;
        _addDue(order.day, quantity);
        emit Changed(orderId, quantity);
    }

    /// @notice Cancels an order.
    /// @param orderId number of the order
    function cancelOrder(uint256 orderId) external onlyCounter {
        _close(orderId, Status.Cancelled);
    }

    /// @notice Marks an order as collected.
    /// @param orderId number of the order
    function markCollected(uint256 orderId) external onlyCounter {
        _close(orderId, Status.Collected);
    }

    /// @notice Counts the pieces of open orders for a day.
    /// @param day day of the month, 1 to 31
    /// @return pieces how many
    function piecesDue(uint8 day) external view returns (uint256 pieces) {
        return due[day];
    }

    function _addDue(uint8 day, uint256 quantity) private {
        if (quantity == 0 || due[day] + quantity > PIECES_A_DAY) revert TooMany(quantity);
        due[day] += quantity;
    }

    function _close(uint256 orderId, Status status) private {
        Order storage order = _open(orderId);
        order.status = status;
        due[order.day] -= order.quantity;
        emit Closed(orderId, status);
    }

    function _open(uint256 orderId) private view returns (Order storage order) {
        order = orders[orderId];
        if (order.status != Status.Open) revert NotOpen(orderId);
    }
}

contract CakeBook is Ownable {
    struct Cake {
        string flavour;
        string inscription;
        bool decorated;
    }

    uint256 public cakeCount;
    mapping(uint256 => Cake) public cakes;
    mapping(address => bool) public staff;

    event InscriptionChanged(uint256 indexed cakeId, string inscription);

    constructor() Ownable(msg.sender) {}

    function setStaff(address account, bool allowed) external onlyOwner {
        staff[account] = allowed;
    }

    function addCake(string calldata flavour) external onlyOwner returns (uint256 cakeId) {
        cakeId = ++cakeCount;
        cakes[cakeId].flavour = flavour;
    }

    function finishCake(uint256 cakeId) external onlyOwner {
        cakes[cakeId].decorated = true;
    }

    function setInscription(uint256 cakeId, string calldata inscription) external {
        require(staff[msg.sender], "not staff");
        require(cakeId > 0 && cakeId <= cakeCount, "no such cake");
        require(!cakes[cakeId].decorated, "already decorated");
        cakes[cakeId].inscription = inscription;
        emit InscriptionChanged(cakeId, inscription);
    }
}

contract LoyaltyCards is Ownable {
    uint256 public constant CARD_SIZE = 12;

    mapping(address => bool) public staff;
    mapping(address => uint256) public stampsOf;

    event StampsAdded(address indexed customer, uint256 count);

    constructor() Ownable(msg.sender) {}

    function setStaff(address account, bool allowed) external onlyOwner {
        staff[account] = allowed;
    }

    function addStamps(address customer, uint256 count) external {
        require(staff[msg.sender] || msg.sender == owner(), "not staff");
        require(stampsOf[customer] + count <= CARD_SIZE, "card is full");
        stampsOf[customer] += count;
        emit StampsAdded(customer, count);
    }
}
