// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {ILoanDesk} from "./ILoanDesk.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanTool} from "./LoanTool.sol";

/// @title Approves or denies the open application
/// @notice Only the pool's agent runs it. Its parameter, true or false, is what the model decides. The pool refuses an
///   approval that its policy doesn't allow, and with it the whole request.
contract DecideLoanTool is LoanTool {
    /// @notice Only the pool's agent runs the tool.
    error CallerNotAgent(address caller);

    /// @param _pool in which this tool approves and denies
    constructor(LendingPool _pool) LoanTool(_pool) {}

    function name() external pure returns (string memory) {
        return "decide_loan";
    }

    function description() external pure returns (string memory) {
        return "Decides on the loan";
    }

    function inputDescription() external pure returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = ParamDescription(ParamType.BOOL, "is_approved", "whether the score is enough");
    }

    /// @notice Decides; answers "Approved: 500.00 USDT" or "Denied".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (msg.sender != address(pool.agent())) revert CallerNotAgent(msg.sender);
        bool isOne = input.params.length == 1 && input.params[0].paramType == ParamType.BOOL;
        if (!isOne) revert UnexpectedInput("one BOOL expected");
        ILoanDesk.Application memory application = pool.openApplication();
        if (!abi.decode(input.params[0].value, (bool))) {
            pool.deny();
            return (-1, "Denied");
        }
        pool.approve();
        return (-1, string.concat("Approved: ", _tellAmount(application.amount)));
    }
}
