// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract BakeryToken is ERC20, Ownable {
    uint8 private immutable _decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) ERC20(name_, symbol_) Ownable(msg.sender) {
        _decimals = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return _decimals;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title Invoices of those who deliver flour, milk and eggs
contract SupplierInvoices is Ownable {
    using SafeERC20 for IERC20;

    struct Invoice {
        address supplier;
        uint256 amount;
        bool isPaid;
    }

    error NothingDue(uint256 invoiceId);

    event InvoicePaid(uint256 indexed invoiceId, address indexed supplier, uint256 amount);

    IERC20 public immutable currency;
    mapping(uint256 invoiceId => Invoice) public invoices;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    function enterInvoice(uint256 invoiceId, address supplier, uint256 amount, bool isPaid) external onlyOwner {
        invoices[invoiceId] = Invoice(supplier, amount, isPaid);
    }

    /// @notice Pays an invoice to the supplier who sent it.
    /// @param invoiceId number of the invoice
    function payInvoice(uint256 invoiceId) external {
        uint256 amount = amountDue(invoiceId);
        if (amount == 0) revert NothingDue(invoiceId);
        Invoice storage invoice = invoices[invoiceId];
        invoice.isPaid = true;
        currency.safeTransferFrom(msg.sender, invoice.supplier, amount);
        emit InvoicePaid(invoiceId, invoice.supplier, amount);
    }

    /// @notice Tells how much is still to be paid for an invoice.
    /// @param invoiceId number of the invoice
    /// @return amount how much
    function amountDue(uint256 invoiceId) public view returns (uint256 amount) {
        Invoice storage invoice = invoices[invoiceId];
        return invoice.isPaid ? 0 : invoice.amount;
    }
}

/// @title The jar on the counter, from which the staff gets its tips
contract TipJar is Ownable {
    using SafeERC20 for IERC20;

    error NotTheKeeper(address caller);
    error LengthMismatch();

    event TipsShared(address indexed employee, uint256 amount);

    IERC20 public immutable currency;
    address public keeper;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    function setKeeper(address newKeeper) external onlyOwner {
        keeper = newKeeper;
    }

    /// @notice Puts money of the caller into the tip jar.
    /// @param amount how much
    function addTips(uint256 amount) external {
        currency.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Pays tips out of the jar to employees.
    /// @param employees who gets tips
    /// @param amounts how much each of them gets
    function shareTips(address[] calldata employees, uint256[] calldata amounts) external {
        if (msg.sender != keeper) revert NotTheKeeper(msg.sender);
        if (employees.length != amounts.length) revert LengthMismatch();
        for (uint256 i = 0; i < employees.length; i++) {
            currency.safeTransfer(employees[i], amounts[i]);
            emit TipsShared(employees[i], amounts[i]);
        }
    }
}

contract FoodBank {
    struct Donation {
        address donor;
        uint256 amount;
        string message;
    }

    Donation[] public donations;

    event DonationReceived(address indexed donor, uint256 amount, string message);

    function donate(string calldata message) external payable {
        require(msg.value > 0, "nothing donated");
        donations.push(Donation(msg.sender, msg.value, message));
        emit DonationReceived(msg.sender, msg.value, message);
    }
}
