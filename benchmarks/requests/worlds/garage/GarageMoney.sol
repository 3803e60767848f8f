// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

contract GarageToken is ERC20, Ownable {
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

/// @title Deposits for rented cars, in the native currency
contract CarRentals is Ownable {
    error NotTheTill(address caller);
    error NoSuchRental(uint256 rentalId);
    error DepositTooLow(uint256 rentalId, uint256 deposit);
    error NoDeposit();

    event DepositPaid(uint256 indexed rentalId, uint256 amount);
    event DepositRefunded(uint256 indexed rentalId, address indexed renter, uint256 amount);

    address public till;
    uint256 public rentalCount;
    mapping(uint256 rentalId => uint256) private deposits;

    constructor() Ownable(msg.sender) {}

    function setTill(address account) external onlyOwner {
        till = account;
    }

    function openRentals(uint256 count) external onlyOwner {
        rentalCount += count;
    }

    /// @notice Pays a deposit for a rental.
    /// @param rentalId number of the rental
    function payDeposit(uint256 rentalId) external payable {
        _check(rentalId);
        if (msg.value == 0) revert NoDeposit();
        deposits[rentalId] += msg.value;
        emit DepositPaid(rentalId, msg.value);
    }

    /// @notice Pays a deposit, or a part of it, back to the renter.
    /// @param rentalId number of the rental
    /// @param renter who gets the money
    /// @param amount how much is paid back
    function refundDeposit(uint256 rentalId, address payable renter, uint256 amount) external {
        if (msg.sender != till) revert NotTheTill(msg.sender);
        _check(rentalId);
        if (amount == 0 || amount > deposits[rentalId]) revert DepositTooLow(rentalId, deposits[rentalId]);
        deposits[rentalId] -= amount;
        Address.sendValue(renter, amount);
        emit DepositRefunded(rentalId, renter, amount);
    }

    /// @notice Tells how much was deposited for a rental.
    /// @param rentalId number of the rental
    function depositOf(uint256 rentalId) external view returns (uint256 deposit) {
        _check(rentalId);
        return deposits[rentalId];
    }

    function _check(uint256 rentalId) private view {
        if (rentalId == 0 || rentalId > rentalCount) revert NoSuchRental(rentalId);
    }
}

contract WorkshopInvoices is Ownable {
    using SafeERC20 for IERC20;

    IERC20 public immutable euro;
    address public till;
    mapping(uint256 invoiceId => uint256) private open;

    event InvoicePaid(uint256 indexed invoiceId, address indexed payer, uint256 amount);
    event CustomerRefunded(address indexed customer, uint256 amount);

    constructor(IERC20 euro_) Ownable(msg.sender) {
        euro = euro_;
    }

    function setTill(address account) external onlyOwner {
        till = account;
    }

    function writeInvoice(uint256 invoiceId, uint256 amount) external onlyOwner {
        open[invoiceId] = amount;
    }

    function payInvoice(uint256 invoiceId, uint256 amount) external {
        require(open[invoiceId] > 0, "no open invoice");
        require(amount > 0 && amount <= open[invoiceId], "more than is open");
        open[invoiceId] -= amount;
        euro.safeTransferFrom(msg.sender, address(this), amount);
        emit InvoicePaid(invoiceId, msg.sender, amount);
    }

    function refundCustomer(address customer, uint256 amount) external {
        require(msg.sender == till, "not the till");
        require(amount > 0, "no amount");
        euro.safeTransfer(customer, amount);
        emit CustomerRefunded(customer, amount);
    }

    function openAmount(uint256 invoiceId) external view returns (uint256) {
        return open[invoiceId];
    }
}
