// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract ShelterToken is ERC20, Ownable {
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

/// @title Bills of vets and suppliers that the shelter has to pay
contract ShelterBills is Ownable {
    using SafeERC20 for IERC20;

    struct Bill {
        address payee;
        uint256 amount;
        bool isPaid;
    }

    error NoSuchBill(uint256 billId);
    error AlreadyPaid(uint256 billId);

    event Received(uint256 indexed billId, address indexed payee, uint256 amount);
    event Paid(uint256 indexed billId, address indexed payer);

    IERC20 public immutable currency;
    uint256 public billCount;
    mapping(uint256 billId => Bill) public bills;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    function enterBill(address payee, uint256 amount) external onlyOwner returns (uint256 billId) {
        billId = ++billCount;
        bills[billId] = Bill(payee, amount, false);
        emit Received(billId, payee, amount);
    }

    /// @notice Pays a bill in full.
    /// @param billId number of the bill
    function payBill(uint256 billId) external {
        Bill storage bill = _existing(billId);
        if (bill.isPaid) revert AlreadyPaid(billId);
        bill.isPaid = true;
        currency.safeTransferFrom(msg.sender, bill.payee, bill.amount);
        emit Paid(billId, msg.sender);
    }

    /// @notice Tells how much is still to be paid of a bill.
    /// @param billId number of the bill
    /// @return amount what is due, 0 once it is paid
    function outstanding(uint256 billId) external view returns (uint256 amount) {
        Bill storage bill = _existing(billId);
        return bill.isPaid ? 0 : bill.amount;
    }

    function _existing(uint256 billId) private view returns (Bill storage) {
        if (billId == 0 || billId > billCount) revert NoSuchBill(billId);
        return bills[billId];
    }
}

/// @title Money that a shelter keeps for bad times
contract ShelterReserve {
    using SafeERC20 for IERC20;

    error NothingToMove();
    error ReserveTooLow(uint256 available);

    event PutAside(address indexed shelter, uint256 amount);
    event TakenOut(address indexed shelter, uint256 amount);

    IERC20 public immutable currency;
    mapping(address shelter => uint256) public reserveOf;

    constructor(IERC20 currency_) {
        currency = currency_;
    }

    /// @notice Puts money into the reserve.
    /// @param amount how much
    function putAside(uint256 amount) external {
        _add(msg.sender, amount);
    }

    function putAsideFor(address shelter, uint256 amount) external {
        _add(shelter, amount);
    }

    /// @notice Takes money out of the reserve.
    /// @param amount how much
    function takeOut(uint256 amount) external {
        if (amount == 0) revert NothingToMove();
        if (amount > reserveOf[msg.sender]) revert ReserveTooLow(reserveOf[msg.sender]);
        reserveOf[msg.sender] -= amount;
        currency.safeTransfer(msg.sender, amount);
        emit TakenOut(msg.sender, amount);
    }

    function _add(address shelter, uint256 amount) private {
        if (amount == 0) revert NothingToMove();
        reserveOf[shelter] += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit PutAside(shelter, amount);
    }
}

/// @title Appeals for help of shelters in the region
contract Appeals is Ownable {
    struct Appeal {
        string purpose;
        uint256 raised;
        bool isOver;
    }

    error NoSuchAppeal(uint256 appealId);
    error AppealOver(uint256 appealId);
    error EmptyDonation();

    event Donated(uint256 indexed appealId, address indexed donor, uint256 amount);

    uint256 public appealCount;
    mapping(uint256 appealId => Appeal) public appeals;

    constructor() Ownable(msg.sender) {}

    function open(string calldata purpose) external onlyOwner returns (uint256 appealId) {
        appealId = ++appealCount;
        appeals[appealId].purpose = purpose;
    }

    function end(uint256 appealId) external onlyOwner {
        appeals[appealId].isOver = true;
        (bool sent,) = owner().call{value: appeals[appealId].raised}("");
        require(sent);
    }

    /// @notice Donates to an appeal.
    /// @param appealId number of the appeal
    function donate(uint256 appealId) external payable {
        if (appealId == 0 || appealId > appealCount) revert NoSuchAppeal(appealId);
        if (appeals[appealId].isOver) revert AppealOver(appealId);
        if (msg.value == 0) revert EmptyDonation();
        appeals[appealId].raised += msg.value;
        emit Donated(appealId, msg.sender, msg.value);
    }
}
