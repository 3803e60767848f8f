// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract BakeryStable is ERC20, Ownable {
    constructor() ERC20("Euro Coin", "EURC") Ownable(msg.sender) {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title Invoices of the suppliers
contract SupplierPayments is Ownable {
    using SafeERC20 for IERC20;

    error UnknownSupplier(address supplier);
    error AlreadyPaid(address supplier, uint256 invoiceNumber);

    event InvoicePaid(address indexed supplier, uint256 indexed invoiceNumber, uint256 amount);

    IERC20 public immutable currency;
    mapping(address supplier => bool) public isSupplier;
    mapping(address supplier => mapping(uint256 invoiceNumber => bool)) public isPaid;
    mapping(address supplier => uint256) private total;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    function addSupplier(address supplier) external onlyOwner {
        isSupplier[supplier] = true;
    }

    /// @notice Pays an invoice of a supplier.
    /// @param supplier who sent the invoice
    /// @param invoiceNumber number of the invoice
    /// @param amount how much is paid
    function payInvoice(address supplier, uint256 invoiceNumber, uint256 amount) external {
        if (!isSupplier[supplier]) revert UnknownSupplier(supplier);
        if (isPaid[supplier][invoiceNumber]) revert AlreadyPaid(supplier, invoiceNumber);
        isPaid[supplier][invoiceNumber] = true;
        total[supplier] += amount;
        currency.safeTransferFrom(msg.sender, supplier, amount);
        emit InvoicePaid(supplier, invoiceNumber, amount);
    }

    /// @notice Tells how much a supplier was paid for invoices so far.
    /// @param supplier which supplier
    /// @return amount the sum of all invoices paid
    function totalPaid(address supplier) external view returns (uint256 amount) {
        return total[supplier];
    }
}

/// @title Petty cash of the shops
contract PettyCash is Ownable {
    using SafeERC20 for IERC20;

    error NoSuchShop(uint256 shopId);
    error NotTheBookkeeper(address caller);
    error TillTooLow(uint256 shopId, uint256 inTill);

    uint256 public constant SHOPS = 4;
    IERC20 public immutable currency;
    address public bookkeeper;
    mapping(uint256 shopId => uint256) private tills;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    modifier shopExists(uint256 shopId) {
        if (shopId == 0 || shopId > SHOPS) revert NoSuchShop(shopId);
        _;
    }

    function setBookkeeper(address account) external onlyOwner {
        bookkeeper = account;
    }

    /// @notice Puts money into the petty cash till of a shop.
    /// @param shopId number of the shop, 1 to 4
    /// @param amount how much
    function fillTill(uint256 shopId, uint256 amount) external shopExists(shopId) {
        tills[shopId] += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Reimburses an employee from the petty cash till of a shop.
    /// @param shopId number of the shop, 1 to 4
    /// @param employee who gets the money
    /// @param amount how much
    function reimburse(uint256 shopId, address employee, uint256 amount) external shopExists(shopId) {
        if (msg.sender != bookkeeper) revert NotTheBookkeeper(msg.sender);
        if (amount > tills[shopId]) revert TillTooLow(shopId, tills[shopId]);
        tills[shopId] -= amount;
        currency.safeTransfer(employee, amount);
    }

    /// @notice Tells how much petty cash is in the till of a shop.
    /// @param shopId number of the shop, 1 to 4
    function inTill(uint256 shopId) external view shopExists(shopId) returns (uint256 amount) {
        return tills[shopId];
    }
}
