// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {ILoanAgent} from "./ILoanAgent.sol";
import {ILoanDesk} from "./ILoanDesk.sol";
import {LoanTexts} from "./LoanTexts.sol";
import {QuotedText} from "./QuotedText.sol";

/// @title Decides on the applications of a lending pool
/// @notice Its tools read the DAO's criteria, ask the credit score agent to evaluate them, and tell the pool the decision.
///   All of it is one transaction, undone together. Who gets how much, and what may be approved at all, is the pool's
///   decision. A run that is not done reverts with `RunOutcome.NotDone`.
contract LoanAgent is IERCAgent, ILoanAgent {
    /// @notice Only the pool runs the agent.
    error CallerNotDesk(address caller);

    /// @notice Bytes of an application's text: some 100 words, few enough for a quotation.
    uint256 public constant MAX_TEXT_BYTES = 600;

    /// @dev Three steps, the answer, and two more.
    uint16 private constant ITERATIONS = 6;

    /// @notice The pool.
    ILoanDesk public immutable desk;

    modifier onlyDesk() {
        if (msg.sender != address(desk)) revert CallerNotDesk(msg.sender);
        _;
    }

    /// @param _agentExecutorContract a contract that implements IERCAgentExecutor; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _desk the pool, which runs the agent
    /// @param _tools a ReadCriteriaTool, the CreditScoreAgent, a DecideLoanTool
    constructor(
        address _agentExecutorContract,
        string memory _modelId,
        ILoanDesk _desk,
        IERCAgentTool[] memory _tools
    )
        IERCAgent(
            _agentExecutorContract,
            _modelId,
            LoanTexts.AGENT_NAME,
            LoanTexts.AGENT_DESCRIPTION,
            LoanTexts.AGENT_INPUT,
            LoanTexts.AGENT_PROMPT,
            _tools,
            ITERATIONS
        )
    {
        desk = _desk;
    }

    /// @inheritdoc ILoanAgent
    function decide(string memory application) external onlyDesk returns (string memory answer) {
        return _runOrRevert(requestFor(application));
    }

    /// @notice Runs the agent. For the pool.
    /// @inheritdoc IERCAgent
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        onlyDesk
        returns (int256 runId, string memory result)
    {
        return (-1, _runOrRevert(_promptOf(input)));
    }

    /// @notice Returns the request for an application: its text as a quotation, and the three things to do.
    /// @dev The text is data. See `QuotedText`.
    function requestFor(string memory application) public pure returns (string memory) {
        bool isEmpty = bytes(application).length == 0;
        string memory text = isEmpty ? LoanTexts.NO_TEXT : QuotedText.quotable(application, MAX_TEXT_BYTES);
        return string.concat(LoanTexts.REQUEST_START, text, LoanTexts.REQUEST_END);
    }
}
