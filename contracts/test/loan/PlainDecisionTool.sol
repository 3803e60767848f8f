// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ILoanDesk} from "../../examples/loan/ILoanDesk.sol";
import {PlainLoanTool} from "./PlainLoanTool.sol";

/// @title Approves or denies the open application
contract PlainDecisionTool is PlainLoanTool {
    ILoanDesk private immutable desk;
    bool private immutable isApproval;

    constructor(string memory _name, ILoanDesk _desk, bool _isApproval) PlainLoanTool(_name) {
        (desk, isApproval) = (_desk, _isApproval);
    }

    function _act() internal override {
        if (isApproval) desk.approve();
        else desk.deny();
    }
}
