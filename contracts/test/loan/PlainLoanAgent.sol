// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {ILoanAgent} from "../../examples/loan/ILoanAgent.sol";
import {ILoanDesk} from "../../examples/loan/ILoanDesk.sol";
import {IScoreBook} from "../../examples/loan/IScoreBook.sol";

/// @title An agent that hands the application to its model as it is
/// @notice It trusts everybody, so that only the pool's limits stand between a model and the pool's funds.
contract PlainLoanAgent is IERCAgent, ILoanAgent {
    uint16 private constant ITERATIONS = 8;

    constructor(address executor, IERCAgentTool[] memory _tools)
        IERCAgent(executor, "default", "Loan Agent", "Decides on loans", "an application", "You lend.", _tools, ITERATIONS)
    {}

    /// @inheritdoc ILoanAgent
    function decide(string calldata application) external returns (string memory answer) {
        return _run(application);
    }
}

/// @title A tool without parameters whose action is one call
abstract contract PlainLoanTool is IERCAgentTool {
    string private toolName;

    constructor(string memory _name) {
        toolName = _name;
    }

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory) {
        return toolName;
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory) {
        return toolName;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @inheritdoc IERCAgentTool
    function run(Input memory, address) external returns (int256 runId, string memory result) {
        _act();
        return (-1, "Done");
    }

    function _act() internal virtual;
}

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
