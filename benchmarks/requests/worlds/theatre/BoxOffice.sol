// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract TheatreCoin is ERC20, Ownable {
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

/// @title Seats of the shows of this season
contract SeatPlan is Ownable {
    error NotTheBoxOffice(address caller);
    error NoSuchShow(uint256 showId);
    error NoSuchSeat(uint8 row, uint8 seat);
    error SeatTaken(uint256 showId, uint8 row, uint8 seat);
    error SeatFree(uint256 showId, uint8 row, uint8 seat);

    event SeatBooked(uint256 indexed showId, uint8 row, uint8 seat, address indexed guest);
    event SeatCancelled(uint256 indexed showId, uint8 row, uint8 seat);

    uint256 public constant SHOWS = 6;
    uint8 public constant ROWS = 12;
    uint8 public constant SEATS_PER_ROW = 20;

    address public boxOffice;
    mapping(uint256 showId => mapping(uint8 row => mapping(uint8 seat => address))) public guestOf;

    constructor() Ownable(msg.sender) {}

    modifier onlyBoxOffice() {
        if (msg.sender != boxOffice && msg.sender != owner()) revert NotTheBoxOffice(msg.sender);
        _;
    }

    function setBoxOffice(address account) external onlyOwner {
        boxOffice = account;
    }

    /// @notice Books a seat of a show for a guest.
    /// @param showId number of the show, 1 to 6
    /// @param row row of the seat, 1 to 12
    /// @param seat number of the seat in its row, 1 to 20
    /// @param guest who will sit there
    function bookSeat(uint256 showId, uint8 row, uint8 seat, address guest) external onlyBoxOffice {
        _check(showId, row, seat);
        if (guestOf[showId][row][seat] != address(0)) revert SeatTaken(showId, row, seat);
        guestOf[showId][row][seat] = guest;
        emit SeatBooked(showId, row, seat, guest);
    }

    /// @notice Cancels the booking of a seat, which is free again.
    /// @param showId number of the show, 1 to 6
    /// @param row row of the seat, 1 to 12
    /// @param seat number of the seat in its row, 1 to 20
    function cancelSeat(uint256 showId, uint8 row, uint8 seat) external onlyBoxOffice {
        _check(showId, row, seat);
        if (guestOf[showId][row][seat] == address(0)) revert SeatFree(showId, row, seat);
        delete guestOf[showId][row][seat];
        emit SeatCancelled(showId, row, seat);
    }

    function _check(uint256 showId, uint8 row, uint8 seat) private pure {
        if (showId == 0 || showId > SHOWS) revert NoSuchShow(showId);
        if (row == 0 || row > ROWS || seat == 0 || seat > SEATS_PER_ROW) revert NoSuchSeat(row, seat);
    }
}

/// @title Deposits that guests get back after the show
contract GuestDeposits is Ownable {
    using SafeERC20 for IERC20;

    error NotTheCashier(address caller);
    error NothingPaid();
    error DepositTooLow(address guest, uint256 held);

    event DepositPaid(address indexed guest, address indexed payer, uint256 amount);
    event DepositRefunded(address indexed guest, uint256 amount);

    IERC20 public immutable currency;
    address public cashier;
    mapping(address guest => uint256) private deposits;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    function setCashier(address account) external onlyOwner {
        cashier = account;
    }

    /// @notice Pays a deposit for a guest.
    /// @param guest for whom
    /// @param amount how much
    function payDeposit(address guest, uint256 amount) external {
        if (amount == 0) revert NothingPaid();
        deposits[guest] += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit DepositPaid(guest, msg.sender, amount);
    }

    /// @notice Refunds a guest's deposit, or a part of it, to the guest.
    /// @param guest who gets it back
    /// @param amount how much
    function refundDeposit(address guest, uint256 amount) external {
        if (msg.sender != cashier) revert NotTheCashier(msg.sender);
        if (amount == 0) revert NothingPaid();
        if (amount > deposits[guest]) revert DepositTooLow(guest, deposits[guest]);
        deposits[guest] -= amount;
        currency.safeTransfer(guest, amount);
        emit DepositRefunded(guest, amount);
    }

    /// @notice Tells how much deposit of a guest is held.
    /// @param guest whose deposit it is
    /// @return amount how much
    function depositOf(address guest) external view returns (uint256 amount) {
        return deposits[guest];
    }
}
