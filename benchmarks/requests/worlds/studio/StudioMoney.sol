// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract StudioCoin is ERC20, Ownable {
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

/// @title Suppliers' invoices to the studio
contract InvoiceBook is Ownable {
    using SafeERC20 for IERC20;

    struct Invoice {
        address supplier;
        uint256 due;
        string subject;
    }

    error NoSuchInvoice(uint256 invoiceNumber);
    error AlreadySettled(uint256 invoiceNumber);
    error MoreThanDue(uint256 invoiceNumber, uint256 due);

    event InvoicePaid(uint256 indexed invoiceNumber, address indexed payer, uint256 amount);

    IERC20 public immutable currency;
    uint256 public invoiceCount;
    mapping(uint256 invoiceNumber => Invoice) public invoices;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    function enterInvoice(address supplier, uint256 amount, string calldata subject)
        external
        onlyOwner
        returns (uint256 invoiceNumber)
    {
        invoiceNumber = ++invoiceCount;
        invoices[invoiceNumber] = Invoice(supplier, amount, subject);
    }

    /// @notice Pays all that is still due of an invoice.
    /// @param invoiceNumber number of the invoice
    function payInvoice(uint256 invoiceNumber) external {
        uint256 due = _open(invoiceNumber).due;
        _pay(invoiceNumber, due);
    }

    /// @notice Pays a part of an invoice.
    /// @param invoiceNumber number of the invoice
    /// @param amount how much
    function payPart(uint256 invoiceNumber, uint256 amount) external {
        uint256 due = _open(invoiceNumber).due;
        if (amount == 0 || amount > due) revert MoreThanDue(invoiceNumber, due);
        _pay(invoiceNumber, amount);
    }

    /// @notice Tells how much is still due of an invoice.
    /// @param invoiceNumber number of the invoice
    /// @return due what is not paid yet
    function amountDue(uint256 invoiceNumber) external view returns (uint256 due) {
        if (invoiceNumber == 0 || invoiceNumber > invoiceCount) revert NoSuchInvoice(invoiceNumber);
        return invoices[invoiceNumber].due;
    }

    function _open(uint256 invoiceNumber) private view returns (Invoice storage invoice) {
        if (invoiceNumber == 0 || invoiceNumber > invoiceCount) revert NoSuchInvoice(invoiceNumber);
        invoice = invoices[invoiceNumber];
        if (invoice.due == 0) revert AlreadySettled(invoiceNumber);
    }

    function _pay(uint256 invoiceNumber, uint256 amount) private {
        Invoice storage invoice = invoices[invoiceNumber];
        invoice.due -= amount;
        currency.safeTransferFrom(msg.sender, invoice.supplier, amount);
        emit InvoicePaid(invoiceNumber, msg.sender, amount);
    }
}

contract CrewPay {
    mapping(address => uint256) public paidTo;

    event CrewPaid(address indexed member, uint256 amount);

    function payCrew(address payable member) external payable {
        require(msg.value > 0, "nothing to pay");
        paidTo[member] += msg.value;
        (bool sent,) = member.call{value: msg.value}("");
        require(sent, "payment failed");
        emit CrewPaid(member, msg.value);
    }
}
