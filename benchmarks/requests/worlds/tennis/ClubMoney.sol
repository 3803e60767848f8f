// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

contract ClubEuro is ERC20, Ownable {
    constructor() ERC20("STASIS EURS", "EURS") Ownable(msg.sender) {}

    function decimals() public pure override returns (uint8) {
        return 2;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title Membership dues of the season
contract Memberships {
    using SafeERC20 for IERC20;

    error NoAmount();

    event DuesPaid(address indexed member, address indexed payer, uint256 amount);

    IERC20 public immutable currency;
    mapping(address member => uint256) private paid;

    constructor(IERC20 currency_) {
        currency = currency_;
    }

    /// @notice Pays the membership dues of a member.
    /// @param member whose membership it is
    /// @param amount how much
    function payDues(address member, uint256 amount) external {
        if (amount == 0) revert NoAmount();
        paid[member] += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit DuesPaid(member, msg.sender, amount);
    }

    /// @notice Tells how much was paid of a member's membership dues this season.
    /// @param member whose membership it is
    /// @return amount how much
    function duesPaid(address member) external view returns (uint256 amount) {
        return paid[member];
    }
}

/// @title Guests, who pay for each visit
contract GuestDesk is Ownable {
    error FeeTooLow(uint256 paid, uint256 least);

    event GuestPaid(string guestName, uint256 fee);

    uint256 public constant LEAST_FEE = 0.01 ether;
    mapping(string guestName => uint256) public feesOf;

    constructor() Ownable(msg.sender) {}

    /// @notice Pays the guest fee of a visitor in ether, at least 0.01.
    /// @param guestName name of the guest
    function payGuestFee(string calldata guestName) external payable {
        if (msg.value < LEAST_FEE) revert FeeTooLow(msg.value, LEAST_FEE);
        feesOf[guestName] += msg.value;
        emit GuestPaid(guestName, msg.value);
    }

    function collect(address payable to) external onlyOwner {
        Address.sendValue(to, address(this).balance);
    }
}

/// @title Prepaid credit for the ball machine
contract MachineCredit {
    error CreditTooLow(uint256 credit);

    mapping(address account => uint256) private credits;

    /// @notice Adds ether to the credit for the ball machine.
    function addCredit() external payable {
        credits[msg.sender] += msg.value;
    }

    function addCreditFor(address account) external payable {
        credits[account] += msg.value;
    }

    /// @notice Withdraws ether from the credit for the ball machine.
    /// @param amount how much ether
    function withdrawCredit(uint256 amount) external {
        uint256 credit = credits[msg.sender];
        if (amount > credit) revert CreditTooLow(credit);
        credits[msg.sender] = credit - amount;
        Address.sendValue(payable(msg.sender), amount);
    }

    /// @notice Tells how much ether an account has as credit for the ball machine.
    /// @param account whose credit
    function creditOf(address account) external view returns (uint256 amount) {
        return credits[account];
    }
}
