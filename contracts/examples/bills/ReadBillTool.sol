// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {BillBook} from "./BillBook.sol";
import {BillTool} from "./BillTool.sol";

/// @title Reads the open bill of a supplier
/// @notice Anybody may run it.
contract ReadBillTool is BillTool {
    /// @param _book which has the bills
    constructor(BillBook _book) BillTool(_book) {}

    function name() external pure returns (string memory) {
        return "read_bill";
    }

    function description() external pure returns (string memory) {
        return "Reads the open bill of a supplier";
    }

    function inputDescription() external pure returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = ParamDescription(ParamType.STRING, "supplier", "who sent the bill");
    }

    /// @notice Reads; answers for example "75 to Omar": whole tokens, and who gets them.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external view returns (int256 runId, string memory result) {
        bool isOne = input.params.length == 1 && input.params[0].paramType == ParamType.STRING;
        if (!isOne) revert UnexpectedInput("one STRING expected");
        string memory supplier = abi.decode(input.params[0].value, (string));
        return (-1, string.concat(_tellAmount(book.billOf(supplier).amount), " to ", supplier));
    }
}
