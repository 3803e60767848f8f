// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

contract Library is AccessControl {
    bytes32 public constant LIBRARIAN = keccak256("LIBRARIAN");
    uint256 public constant LOAN_DAYS = 28;
    uint256 public constant MAX_EXTRA_DAYS = 30;

    struct Loan {
        address reader;
        uint256 daysLeft;
    }

    struct Hours {
        uint8 opensAt;
        uint8 closesAt;
    }

    uint256 public immutable bookCount;
    uint256 public lateFeeBps;
    mapping(uint256 => Loan) public loans;
    mapping(uint8 => Hours) public openingHours;

    event Borrowed(uint256 indexed bookId, address indexed reader);
    event Returned(uint256 indexed bookId);
    event Extended(uint256 indexed bookId, uint256 extraDays);

    constructor(address admin, address librarian, uint256 _bookCount) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(LIBRARIAN, librarian);
        bookCount = _bookCount;
    }

    function borrowBook(uint256 bookId) external {
        _lend(bookId, msg.sender, LOAN_DAYS);
    }

    function returnBook(uint256 bookId) external {
        require(loans[bookId].reader == msg.sender, "not borrowed by you");
        delete loans[bookId];
        emit Returned(bookId);
    }

    function extendLoan(uint256 bookId, uint256 extraDays) external {
        require(loans[bookId].reader == msg.sender, "not borrowed by you");
        require(extraDays > 0 && extraDays <= MAX_EXTRA_DAYS, "too many days");
        loans[bookId].daysLeft += extraDays;
        emit Extended(bookId, extraDays);
    }

    function passOn(uint256 bookId, address reader) external {
        require(loans[bookId].reader == msg.sender, "not borrowed by you");
        require(reader != address(0), "no reader");
        loans[bookId].reader = reader;
        emit Borrowed(bookId, reader);
    }

    function daysLeft(uint256 bookId) external view returns (uint256) {
        return loans[bookId].daysLeft;
    }

    function setOpeningHours(uint8 weekday, uint8 opensAt, uint8 closesAt) external onlyRole(LIBRARIAN) {
        require(weekday >= 1 && weekday <= 7, "bad weekday");
        require(opensAt < closesAt && closesAt <= 24, "bad hours");
        openingHours[weekday] = Hours(opensAt, closesAt);
    }

    function setLateFee(uint256 basisPoints) external onlyRole(LIBRARIAN) {
        require(basisPoints <= 1000, "fee too high");
        lateFeeBps = basisPoints;
    }

    function lend(uint256 bookId, address reader, uint256 numberOfDays) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _lend(bookId, reader, numberOfDays);
    }

    function _lend(uint256 bookId, address reader, uint256 numberOfDays) private {
        require(bookId > 0 && bookId <= bookCount, "no such book");
        require(loans[bookId].reader == address(0), "on loan");
        loans[bookId] = Loan(reader, numberOfDays);
        emit Borrowed(bookId, reader);
    }
}
