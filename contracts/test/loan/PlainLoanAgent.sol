// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {ILoanAgent} from "../../examples/loan/ILoanAgent.sol";

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
