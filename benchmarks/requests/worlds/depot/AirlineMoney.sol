// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract AirlineToken is ERC20, Ownable {
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

/// @title Vouchers for passengers whose flight was late or full
contract TravelVouchers {
    using SafeERC20 for IERC20;

    struct Voucher {
        address issuer;
        address passenger;
        uint256 amount;
    }

    error NotIssuer(address caller);
    error UnknownVoucher(uint256 voucherId);
    error NoAmount();

    event VoucherIssued(uint256 indexed voucherId, address indexed passenger, uint256 amount);
    event VoucherCancelled(uint256 indexed voucherId);

    IERC20 public immutable currency;
    uint256 public voucherCount;
    mapping(uint256 voucherId => Voucher) public vouchers;

    constructor(IERC20 _currency) {
        currency = _currency;
    }

    /// @notice Issues a voucher; its amount is set aside from the issuer's money.
    /// @param passenger who may redeem it
    /// @param amount what it is worth
    /// @return voucherId its number
    function issueVoucher(address passenger, uint256 amount) external returns (uint256 voucherId) {
        return _issue(msg.sender, passenger, amount);
    }

    /// @notice Issues a voucher for somebody else, from the sender's money.
    function issueVoucherFor(address issuer, address passenger, uint256 amount) external returns (uint256 voucherId) {
        return _issue(issuer, passenger, amount);
    }

    /// @notice Cancels a voucher that was not redeemed; its amount goes back to the issuer.
    /// @param voucherId number of the voucher
    function cancelVoucher(uint256 voucherId) external {
        Voucher memory voucher = vouchers[voucherId];
        if (voucher.amount == 0) revert UnknownVoucher(voucherId);
        if (msg.sender != voucher.issuer) revert NotIssuer(msg.sender);
        delete vouchers[voucherId];
        currency.safeTransfer(msg.sender, voucher.amount);
        emit VoucherCancelled(voucherId);
    }

    function redeem(uint256 voucherId) external {
        Voucher memory voucher = vouchers[voucherId];
        require(msg.sender == voucher.passenger, "not yours");
        delete vouchers[voucherId];
        currency.safeTransfer(msg.sender, voucher.amount);
    }

    function _issue(address issuer, address passenger, uint256 amount) private returns (uint256 voucherId) {
        if (amount == 0) revert NoAmount();
        voucherId = ++voucherCount;
        vouchers[voucherId] = Voucher(issuer, passenger, amount);
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit VoucherIssued(voucherId, passenger, amount);
    }
}

/// @title Prepaid credit at the fuel station of the airfield
contract FuelAccount {
    error NothingPaid();

    event ToppedUp(address indexed customer, uint256 amount);

    mapping(address customer => uint256) private credits;

    /// @notice Adds what is paid to the sender's fuel credit.
    function topUp() external payable {
        _credit(msg.sender);
    }

    /// @notice Adds what is paid to a customer's fuel credit.
    function topUpFor(address customer) external payable {
        _credit(customer);
    }

    /// @notice Returns the fuel credit of a customer.
    function creditOf(address customer) external view returns (uint256) {
        return credits[customer];
    }

    function _credit(address customer) private {
        if (msg.value == 0) revert NothingPaid();
        credits[customer] += msg.value;
        emit ToppedUp(customer, msg.value);
    }
}

contract AirfieldInvoices is Ownable {
    using SafeERC20 for IERC20;

    struct Invoice {
        address issuer;
        address customer;
        uint256 amount;
        string subject;
        bool paid;
    }

    event InvoiceIssued(uint256 indexed invoiceId, address indexed customer, uint256 amount);
    event InvoicePaid(uint256 indexed invoiceId);

    IERC20 public immutable token;
    mapping(uint256 => Invoice) public invoices;

    constructor(IERC20 _token) Ownable(msg.sender) {
        token = _token;
    }

    function issueInvoice(uint256 invoiceId, address issuer, address customer, uint256 amount, string calldata subject)
        external
        onlyOwner
    {
        invoices[invoiceId] = Invoice(issuer, customer, amount, subject, false);
        emit InvoiceIssued(invoiceId, customer, amount);
    }

    function payInvoice(uint256 invoiceId) external {
        Invoice storage invoice = invoices[invoiceId];
        require(invoice.amount > 0, "unknown invoice");
        require(!invoice.paid, "already paid");
        invoice.paid = true;
        token.safeTransferFrom(msg.sender, invoice.issuer, invoice.amount);
        emit InvoicePaid(invoiceId);
    }
}
