// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title The open bills of a treasury's suppliers
/// @notice A bill is paid once, as a whole, to the account that the owner named, from the treasury's allowance. The words of
///   a model choose the supplier and say the amount; an amount that is not the bill's is refused.
contract BillBook is Ownable {
    using SafeERC20 for IERC20;

    /// @notice What a supplier asks for.
    /// @param payee who is paid
    /// @param amount in base units; 0 if no bill is open
    struct Bill {
        address payee;
        uint256 amount;
    }

    /// @notice The owner added a bill.
    event BillAdded(string supplier, address indexed payee, uint256 amount);

    /// @notice A bill was paid.
    event BillPaid(string supplier, address indexed payee, uint256 amount);

    /// @notice The supplier has no open bill.
    error NoOpenBill(string supplier);

    /// @notice The supplier has an open bill.
    error BillIsOpen(string supplier);

    /// @notice Another amount than that of the bill.
    error AmountDiffers(string supplier, uint256 billed, uint256 given);

    /// @notice Only the paying tool pays.
    error CallerNotTool(address caller);

    /// @notice The paying agent and its tool were set before, or one is missing.
    error AgentFixed();

    /// @notice The token that bills are paid in.
    IERC20Metadata public immutable currency;

    /// @notice Who pays: it has approved this contract.
    address public immutable treasury;

    /// @notice The agent that pays, and its tool.
    address public agent;
    address public tool;

    mapping(string supplier => Bill) private bills;

    /// @param owner adds bills
    /// @param _currency the token
    /// @param _treasury who pays
    constructor(address owner, IERC20Metadata _currency, address _treasury) Ownable(owner) {
        currency = _currency;
        treasury = _treasury;
    }

    /// @notice Sets who pays, once. For the owner.
    function setAgent(address agent_, address tool_) external onlyOwner {
        if (agent != address(0) || agent_ == address(0) || tool_ == address(0)) revert AgentFixed();
        (agent, tool) = (agent_, tool_);
    }

    /// @notice Adds a bill. For the owner.
    /// @param amount in base units, more than 0
    function add(string calldata supplier, address payee, uint256 amount) external onlyOwner {
        if (bills[supplier].amount != 0) revert BillIsOpen(supplier);
        if (amount == 0) revert NoOpenBill(supplier);
        bills[supplier] = Bill(payee, amount);
        emit BillAdded(supplier, payee, amount);
    }

    /// @notice Pays a supplier's bill. For the paying tool.
    /// @param amount in base units; it must be that of the bill
    function pay(string calldata supplier, uint256 amount) external {
        if (msg.sender != tool) revert CallerNotTool(msg.sender);
        Bill memory bill = billOf(supplier);
        if (bill.amount != amount) revert AmountDiffers(supplier, bill.amount, amount);
        delete bills[supplier];
        IERC20(address(currency)).safeTransferFrom(treasury, bill.payee, amount);
        emit BillPaid(supplier, bill.payee, amount);
    }

    /// @notice Returns a supplier's open bill.
    function billOf(string calldata supplier) public view returns (Bill memory bill) {
        bill = bills[supplier];
        if (bill.amount == 0) revert NoOpenBill(supplier);
    }
}
