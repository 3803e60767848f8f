// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Loans of feed between members, and from the common store
contract FeedLoans is Ownable {
    using SafeERC20 for IERC20;

    struct Loan {
        address lender;
        address member;
        uint256 amount;
        uint256 dueWeek;
    }

    event Lent(uint256 indexed loanId, address indexed lender, address indexed member, uint256 amount, uint256 dueWeek);
    event Extended(uint256 indexed loanId, uint256 dueWeek);
    event Borrowed(address indexed member, uint256 amount, uint256 dueWeek);
    event Repaid(address indexed member, uint256 amount);

    IERC20 public immutable feed;
    uint256 public loanCount;
    mapping(uint256 loanId => Loan) public loans;
    mapping(address member => uint256) public debtOf;
    mapping(address member => uint256) public storeDueWeek;

    constructor(IERC20 feed_) Ownable(msg.sender) {
        feed = feed_;
    }

    /// @notice Lends feed to a member
    /// @param member who receives the feed
    /// @param amount how much feed
    /// @param dueWeek calendar week, 1 to 52, by which it has to be given back
    /// @return loanId number of the new loan
    function lend(address member, uint256 amount, uint256 dueWeek) external returns (uint256 loanId) {
        loanId = _open(msg.sender, member, amount, dueWeek);
        feed.safeTransferFrom(msg.sender, member, amount);
    }

    /// @notice Borrows feed from the common store
    /// @param amount how much feed
    /// @param dueWeek calendar week, 1 to 52, by which it has to be given back
    function borrow(uint256 amount, uint256 dueWeek) external {
        require(dueWeek > 0 && dueWeek <= 52, "no such week");
        debtOf[msg.sender] += amount;
        storeDueWeek[msg.sender] = dueWeek;
        feed.safeTransfer(msg.sender, amount);
        emit Borrowed(msg.sender, amount, dueWeek);
    }

    /// @notice Gives borrowed feed back to the common store
    /// @param amount how much feed, at most the debt
    function repay(uint256 amount) external {
        require(amount <= debtOf[msg.sender], "more than the debt");
        debtOf[msg.sender] -= amount;
        feed.safeTransferFrom(msg.sender, address(this), amount);
        emit Repaid(msg.sender, amount);
    }

    /// @notice Gives a borrower more time
    /// @param loanId number of the loan
    /// @param dueWeek the new week, later than the old one
    function extend(uint256 loanId, uint256 dueWeek) external {
        Loan storage loan = loans[loanId];
        require(loan.lender == msg.sender, "not the lender");
        require(dueWeek > loan.dueWeek && dueWeek <= 52, "no later week");
        loan.dueWeek = dueWeek;
        emit Extended(loanId, dueWeek);
    }

    /// @notice Tells by which week a loan has to be given back
    /// @param loanId number of the loan
    function dueWeekOf(uint256 loanId) external view returns (uint256) {
        require(loans[loanId].amount > 0, "no such loan");
        return loans[loanId].dueWeek;
    }

    /// @notice Takes over a loan from the paper book
    function importLoan(address lender, address member, uint256 amount, uint256 dueWeek) external onlyOwner {
        _open(lender, member, amount, dueWeek);
    }

    /// @notice Takes over a debt to the store from the paper book
    function importDebt(address member, uint256 amount, uint256 dueWeek) external onlyOwner {
        debtOf[member] = amount;
        storeDueWeek[member] = dueWeek;
    }

    function _open(address lender, address member, uint256 amount, uint256 dueWeek) private returns (uint256 loanId) {
        require(amount > 0, "nothing lent");
        require(dueWeek > 0 && dueWeek <= 52, "no such week");
        loanId = ++loanCount;
        loans[loanId] = Loan(lender, member, amount, dueWeek);
        emit Lent(loanId, lender, member, amount, dueWeek);
    }
}
