// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract MuseumToken is ERC20, Ownable {
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

/// @title Funds that donors give to: restoration, acquisitions, school visits
contract Donations is Ownable {
    using SafeERC20 for IERC20;

    struct Fund {
        string title;
        uint256 balance;
        bool isClosed;
    }

    error NotTheCashier(address caller);
    error NoSuchFund(uint256 fundId);
    error FundClosed(uint256 fundId);
    error FundTooLow(uint256 fundId, uint256 balance);
    error NothingGiven();

    event Donated(uint256 indexed fundId, address indexed donor, uint256 amount);
    event GrantPaid(uint256 indexed fundId, address indexed recipient, uint256 amount);

    IERC20 public immutable currency;
    address public cashier;
    uint256 public fundCount;
    mapping(uint256 fundId => Fund) public funds;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    function setCashier(address newCashier) external onlyOwner {
        cashier = newCashier;
    }

    function openFund(string calldata title) external onlyOwner returns (uint256 fundId) {
        fundId = ++fundCount;
        funds[fundId].title = title;
    }

    function closeFund(uint256 fundId) external onlyOwner {
        _open(fundId).isClosed = true;
    }

    /// @notice Donates money to a fund.
    /// @param fundId number of the fund
    /// @param amount how much is given
    function donate(uint256 fundId, uint256 amount) external {
        Fund storage fund = _open(fundId);
        if (amount == 0) revert NothingGiven();
        fund.balance += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit Donated(fundId, msg.sender, amount);
    }

    /// @notice Pays a grant out of a fund.
    /// @param fundId number of the fund
    /// @param recipient who gets the grant
    /// @param amount how much is paid
    function payGrant(uint256 fundId, address recipient, uint256 amount) external {
        if (msg.sender != cashier) revert NotTheCashier(msg.sender);
        Fund storage fund = _open(fundId);
        if (amount > fund.balance) revert FundTooLow(fundId, fund.balance);
        fund.balance -= amount;
        currency.safeTransfer(recipient, amount);
        emit GrantPaid(fundId, recipient, amount);
    }

    /// @notice Tells how much money is in a fund.
    /// @param fundId number of the fund
    /// @return balance what is in it
    function fundBalance(uint256 fundId) external view returns (uint256 balance) {
        if (fundId == 0 || fundId > fundCount) revert NoSuchFund(fundId);
        return funds[fundId].balance;
    }

    function _open(uint256 fundId) private view returns (Fund storage fund) {
        if (fundId == 0 || fundId > fundCount) revert NoSuchFund(fundId);
        fund = funds[fundId];
        if (fund.isClosed) revert FundClosed(fundId);
    }
}

contract TicketDesk is Ownable {
    uint16 public constant MAX_PER_DAY = 60;

    address public desk;
    mapping(address visitor => mapping(uint8 day => uint16)) public ticketsOf;
    mapping(uint8 day => uint16) public soldFor;

    event TicketsIssued(address indexed visitor, uint16 quantity, uint8 day);

    constructor() Ownable(msg.sender) {}

    function setDesk(address account) external onlyOwner {
        desk = account;
    }

    function issueTickets(address visitor, uint16 quantity, uint8 day) external {
        require(msg.sender == desk || msg.sender == owner(), "not the desk");
        require(day >= 1 && day <= 31, "no such day");
        require(quantity > 0, "no tickets");
        require(soldFor[day] + quantity <= MAX_PER_DAY, "sold out");
        soldFor[day] += quantity;
        ticketsOf[visitor][day] += quantity;
        emit TicketsIssued(visitor, quantity, day);
    }
}
