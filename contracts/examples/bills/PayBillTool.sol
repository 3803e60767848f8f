// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {BillBook} from "./BillBook.sol";
import {BillTool} from "./BillTool.sol";

/// @title Pays the open bill of a supplier
/// @notice Only the book's agent runs it. The amount, in whole tokens, is what the model says; the book refuses another one
///   than the bill's.
contract PayBillTool is BillTool {
    /// @notice Only the book's agent runs the tool.
    error CallerNotAgent(address caller);

    /// @param _book which has the bills
    constructor(BillBook _book) BillTool(_book) {}

    function name() external pure returns (string memory) {
        return "pay_bill";
    }

    function description() external pure returns (string memory) {
        return "Pays an amount to a supplier";
    }

    function inputDescription() external pure returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](2);
        input.paramDescriptions[0] = ParamDescription(ParamType.STRING, "supplier", "who is paid");
        input.paramDescriptions[1] = ParamDescription(ParamType.UINT, "amount", "whole tokens");
    }

    /// @notice Pays; answers for example "Paid 75 USDC to Omar".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (msg.sender != book.agent()) revert CallerNotAgent(msg.sender);
        bool isRight = input.params.length == 2 && input.params[0].paramType == ParamType.STRING
            && input.params[1].paramType == ParamType.UINT;
        if (!isRight) revert UnexpectedInput("one STRING and one UINT expected");
        string memory supplier = abi.decode(input.params[0].value, (string));
        uint256 amount = abi.decode(input.params[1].value, (uint256)) * 10 ** book.currency().decimals();
        book.pay(supplier, amount);
        return (-1, string.concat("Paid ", _tellAmount(amount), " ", book.currency().symbol(), " to ", supplier));
    }
}
