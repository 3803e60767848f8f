// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract OfficeToken is ERC20, Ownable {
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

/// @title The petty cash box of the practice
contract PettyCash is Ownable {
    using SafeERC20 for IERC20;

    struct Expense {
        address payee;
        uint256 amount;
        string purpose;
    }

    error NotCashier(address caller);
    error AboveLimit(uint256 amount, uint256 limit);

    event Spent(address indexed payee, uint256 amount, string purpose);

    IERC20 public immutable currency;
    uint256 public immutable limit;
    address public cashier;
    Expense[] public expenses;

    /// @param limit_ the most that one expense may come to
    constructor(IERC20 currency_, uint256 limit_) Ownable(msg.sender) {
        currency = currency_;
        limit = limit_;
    }

    function setCashier(address newCashier) external onlyOwner {
        cashier = newCashier;
    }

    /// @notice Pays an expense out of the petty cash.
    /// @param payee who gets the money
    /// @param amount how much
    /// @param purpose what it is for
    function spend(address payee, uint256 amount, string calldata purpose) external {
        if (msg.sender != cashier) revert NotCashier(msg.sender);
        if (amount > limit) revert AboveLimit(amount, limit);
        expenses.push(Expense(payee, amount, purpose));
        currency.safeTransfer(payee, amount);
        emit Spent(payee, amount, purpose);
    }

    /// @notice Puts money of the caller into the petty cash.
    /// @param amount how much
    function topUp(uint256 amount) external {
        currency.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Tells how much is in the petty cash.
    function cashLeft() external view returns (uint256) {
        return currency.balanceOf(address(this));
    }
}

contract StaffRoster is Ownable {
    uint256 public constant MAX_LEAVE = 30;

    address public manager;
    address public onCall;
    mapping(address => bool) public isEmployee;
    mapping(address => uint256) public leaveDays;

    event LeaveGranted(address indexed employee, uint256 numberOfDays);
    event OnCallChanged(address indexed employee);

    modifier onlyManager() {
        require(msg.sender == manager || msg.sender == owner(), "not the manager");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setManager(address account) external onlyOwner {
        manager = account;
    }

    function hire(address employee) external onlyOwner {
        isEmployee[employee] = true;
    }

    function grantLeave(address employee, uint256 numberOfDays) external onlyManager {
        require(isEmployee[employee], "not an employee");
        require(numberOfDays > 0 && leaveDays[employee] + numberOfDays <= MAX_LEAVE, "too many days");
        leaveDays[employee] += numberOfDays;
        emit LeaveGranted(employee, numberOfDays);
    }

    function setOnCall(address employee) external onlyManager {
        require(isEmployee[employee], "not an employee");
        onCall = employee;
        emit OnCallChanged(employee);
    }
}
