// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title UnitBox
/// @notice Functions whose numbers are amounts of a token, of ether, or of nothing.
contract UnitBox {
    using SafeERC20 for IERC20;

    /// @notice How the box is run.
    enum Mode {
        Off,
        Slow,
        Fast
    }

    /// @notice A payment of a list.
    struct Payment {
        address to;
        uint256 amount;
    }

    /// @notice What the seller of an open deal gets, and until when.
    struct Deal {
        address seller;
        uint256 amount;
        uint256 deadline;
    }

    IERC20 public immutable token;
    Mode public mode;
    Deal public deal;
    uint256 public shares;
    uint256 public bookings;
    mapping(address account => uint256) public stakes;
    mapping(address account => uint256) private _shares;
    mapping(uint256 number => uint256) public invoices;

    /// @param token_ The token of all amounts.
    constructor(IERC20 token_) payable {
        token = token_;
        shares = 1_000;
        invoices[7] = 10 ** 6;
    }

    /// @notice Takes ether.
    receive() external payable {}

    /// @notice Pulls an amount.
    function stake(uint256 amount) external {
        stakes[msg.sender] += amount;
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Pays an amount out, and tells it.
    function unstake(uint256 amount) external returns (uint256 paid) {
        stakes[msg.sender] -= amount;
        token.safeTransfer(msg.sender, amount);
        return amount;
    }

    /// @notice Pulls an amount between an ID and a term of the deal, which is kept.
    function open(address seller, uint256 amount, uint256 deadline) external {
        require(deadline > block.timestamp, "too early");
        deal = Deal(seller, amount, deadline);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Pulls an amount, if the transaction is not late.
    function stakeUntil(uint256 amount, uint256 deadline) external {
        require(deadline >= block.timestamp, "too late");
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Pays a part of an invoice.
    function payPart(uint256 number, uint256 amount) external {
        require(invoices[number] >= amount && amount > 0, "not due");
        invoices[number] -= amount;
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Pays all of an invoice.
    function payAll(uint256 number) external {
        require(invoices[number] > 0, "not due");
        token.safeTransferFrom(msg.sender, address(this), invoices[number]);
        invoices[number] = 0;
    }

    /// @notice Pays amounts to recipients.
    function payBatch(address[] calldata to, uint256[] calldata amounts) external {
        for (uint256 i = 0; i < to.length; i++) token.safeTransfer(to[i], amounts[i]);
    }

    /// @notice Pays a list of payments.
    function payList(Payment[] calldata payments) external {
        for (uint256 i = 0; i < payments.length; i++) token.safeTransfer(payments[i].to, payments[i].amount);
    }

    /// @notice Pays one payment.
    function payOne(Payment calldata payment) external {
        token.safeTransfer(payment.to, payment.amount);
    }

    /// @notice Pays ether out.
    function payOut(address payable to, uint256 amount) external {
        Address.sendValue(to, amount);
    }

    /// @notice Pulls an amount of a token that the caller names.
    function supply(address asset, uint256 amount) external {
        IERC20(asset).safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Pulls 50 units a day.
    function rent(uint256 numberOfDays) external {
        require(numberOfDays > 0 && numberOfDays <= 90, "bad number of days");
        token.safeTransferFrom(msg.sender, address(this), numberOfDays * 50);
    }

    /// @notice Pulls one unit for each seat, so that the number of seats is an amount by accident.
    function reserve(uint256 seats) external {
        token.safeTransferFrom(msg.sender, address(this), seats);
    }

    /// @notice Pulls a fixed fee of one unit; the number is a number.
    function visit(uint256 number) external {
        require(number > 0, "no number");
        token.safeTransferFrom(msg.sender, address(this), 1);
    }

    /// @notice Pays out at a rate that is one as long as nobody has given anything.
    function redeem(uint256 part) external {
        _shares[msg.sender] -= part;
        token.safeTransfer(msg.sender, part * 1_000 / shares);
    }

    /// @notice Can't be run: it pays an amount.
    function payLater(address to, uint256 amount, uint256 share, uint256 number) external {
        require(block.number > 10 ** 12, "later");
        token.safeTransfer(to, amount + share + number);
    }

    /// @notice Can't be run: its amount is something else.
    /// @param amount number of shares
    function sellLater(uint256 amount) external {
        require(block.number > 10 ** 12, "later");
        shares -= amount;
    }

    /// @notice Books one of four trucks; the first booking has the number 4, by accident.
    function book(uint256 truck, uint256 day) external returns (uint256 number) {
        require(truck > 0 && truck <= 4, "no such truck");
        stakes[address(this)] += day;
        return ++bookings + 3;
    }

    /// @notice Sets the mode.
    function setMode(Mode newMode) external {
        mode = newMode;
    }

    /// @notice Sets a mode that is never the last one.
    function setModes(Mode[] calldata modes, uint8 number) external {
        require(number < 9, "too large");
        mode = modes[0];
    }

    /// @notice What the box holds.
    function held() external view returns (uint256) {
        return token.balanceOf(address(this));
    }

    /// @notice What the box holds, and one more.
    function heldAndOne() external view returns (uint256) {
        return token.balanceOf(address(this)) + 1;
    }

    /// @notice How many shares there are; as many as the box holds units, by accident.
    function count() external pure returns (uint256) {
        return 10 ** 20;
    }
}
