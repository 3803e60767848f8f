// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Invoices of the market's sellers
contract Invoices is Ownable {
    using SafeERC20 for IERC20;

    enum Status {
        None,
        Open,
        Disputed,
        Paid
    }

    struct Invoice {
        address payee;
        uint256 due;
        Status status;
    }

    error NotOpen(uint256 number);
    error MoreThanDue(uint256 amount, uint256 due);

    event Issued(uint256 indexed number, address indexed payee, uint256 due);
    event Paid(uint256 indexed number, address indexed payer, uint256 amount);
    event Disputed(uint256 indexed number);

    IERC20 public immutable currency;

    mapping(uint256 number => Invoice) public invoices;
    uint256 public lastNumber;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    modifier isOpen(uint256 number) {
        if (invoices[number].status != Status.Open) revert NotOpen(number);
        _;
    }

    /// @notice Issues an invoice. For the owner.
    function issue(address payee, uint256 due) external onlyOwner returns (uint256 number) {
        number = ++lastNumber;
        invoices[number] = Invoice(payee, due, Status.Open);
        emit Issued(number, payee, due);
    }

    /// @notice Pays all that is still due on an invoice.
    /// @param number the invoice's number
    function payInvoice(uint256 number) external isOpen(number) {
        _pay(number, invoices[number].due);
    }

    /// @notice Pays a part of an invoice.
    /// @param number the invoice's number
    /// @param amount how much to pay of it
    function payPart(uint256 number, uint256 amount) external isOpen(number) {
        uint256 due = invoices[number].due;
        if (amount > due) revert MoreThanDue(amount, due);
        _pay(number, amount);
    }

    /// @notice Marks an open invoice as disputed, so that nobody can pay it.
    /// @param number the invoice's number
    function dispute(uint256 number) external isOpen(number) {
        invoices[number].status = Status.Disputed;
        emit Disputed(number);
    }

    /// @notice Shows what is still due on an invoice.
    /// @param number the invoice's number
    function amountDue(uint256 number) external view returns (uint256) {
        return invoices[number].due;
    }

    function _pay(uint256 number, uint256 amount) private {
        Invoice storage invoice = invoices[number];
        invoice.due -= amount;
        if (invoice.due == 0) invoice.status = Status.Paid;
        currency.safeTransferFrom(msg.sender, invoice.payee, amount);
        emit Paid(number, msg.sender, amount);
    }
}
