// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract ChoirEuro is ERC20, Ownable {
    constructor() ERC20("STASIS EURO", "EURS") Ownable(msg.sender) {}

    function decimals() public pure override returns (uint8) {
        return 2;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title Dues of the members, and the fund that they make
contract DuesFund is Ownable {
    using SafeERC20 for IERC20;

    error NotTheTreasurer(address caller);
    error NoDues();
    error FundTooLow(uint256 inFund);

    event DuesPaid(address indexed member, uint256 amount);
    event BillPaid(address indexed payee, uint256 amount, string purpose);

    IERC20 public immutable euro;
    address public treasurer;
    mapping(address member => uint256) private paid;
    mapping(uint256 bill => string) public purposes;
    uint256 public bills;

    constructor(IERC20 euro_) Ownable(msg.sender) {
        euro = euro_;
    }

    function setTreasurer(address account) external onlyOwner {
        treasurer = account;
    }

    /// @notice Pays dues into the fund on behalf of a member.
    /// @param member whose dues they are
    /// @param amount how much
    function payDues(address member, uint256 amount) external {
        if (amount == 0) revert NoDues();
        paid[member] += amount;
        euro.safeTransferFrom(msg.sender, address(this), amount);
        emit DuesPaid(member, amount);
    }

    /// @notice Pays a bill out of the dues fund.
    /// @param payee who gets the money
    /// @param amount how much
    /// @param purpose what it is for
    function payBill(address payee, uint256 amount, string calldata purpose) external {
        if (msg.sender != treasurer) revert NotTheTreasurer(msg.sender);
        uint256 inFund = euro.balanceOf(address(this));
        if (amount > inFund) revert FundTooLow(inFund);
        purposes[++bills] = purpose;
        euro.safeTransfer(payee, amount);
        emit BillPaid(payee, amount, purpose);
    }

    /// @notice Tells how much a member has paid in dues.
    /// @param member whose dues they are
    /// @return amount how much
    function duesPaid(address member) external view returns (uint256 amount) {
        return paid[member];
    }
}

/// @title Tips for singers and musicians
contract TipJar {
    error NoTip();
    error NothingThere();

    event Tipped(address indexed artist, uint256 amount);

    mapping(address artist => uint256) public tips;

    /// @notice Tips an artist in the native currency.
    /// @param artist who gets the tip
    function tip(address artist) external payable {
        if (msg.value == 0) revert NoTip();
        tips[artist] += msg.value;
        emit Tipped(artist, msg.value);
    }

    function collect() external {
        uint256 amount = tips[msg.sender];
        if (amount == 0) revert NothingThere();
        tips[msg.sender] = 0;
        (bool success,) = msg.sender.call{value: amount}("");
        require(success, "not paid");
    }
}
