// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IScoreBook} from "../../examples/loan/IScoreBook.sol";
import {PlainLoanTool} from "./PlainLoanTool.sol";

/// @title Notes the same points for every applicant
contract FixedCheckTool is PlainLoanTool {
    IScoreBook private immutable book;
    uint8 private immutable check;
    uint8 private immutable points;

    constructor(string memory _name, IScoreBook _book, uint8 _check, uint8 _points) PlainLoanTool(_name) {
        (book, check, points) = (_book, _check, _points);
    }

    function _act() internal override {
        book.notePoints(check, points);
    }
}
