// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {ILoanPolicy} from "./ILoanPolicy.sol";
import {IScoreBook} from "./IScoreBook.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanTexts} from "./LoanTexts.sol";
import {ReadCriteriaTool} from "./ReadCriteriaTool.sol";

/// @title Makes the checks that the DAO's criteria ask for, and tells the score
/// @notice An agent whose tools are checks. Its model reads today's criteria, which its contract takes from the policy, and
///   chooses the checks. The score book computes the score. Only the pool's agent runs it, after it has read the criteria.
/// @dev Its prompt is the criteria alone. What the caller writes, the application's text, never reaches this agent's model,
///   so an applicant can't name a check.
contract CreditScoreAgent is IERCAgent {
    using Strings for uint256;

    /// @notice Only the pool's agent runs this one.
    error CallerNotAgent(address caller);

    /// @notice The caller hasn't read the criteria for the open application.
    error CriteriaNotRead(address caller);

    /// @dev Four checks, the answer, and one more.
    uint16 private constant ITERATIONS = 6;

    /// @notice Has the scores.
    IScoreBook public immutable book;

    /// @notice Knows who has read the criteria.
    ReadCriteriaTool public immutable reader;

    /// @notice The pool.
    LendingPool public immutable pool;

    /// @param _agentExecutorContract a contract that implements IERCAgentExecutor; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _book has the scores of the reader's pool
    /// @param _tools the checks
    constructor(
        address _agentExecutorContract,
        string memory _modelId,
        IScoreBook _book,
        ReadCriteriaTool _reader,
        IERCAgentTool[] memory _tools
    )
        IERCAgent(
            _agentExecutorContract,
            _modelId,
            LoanTexts.CREDIT_NAME,
            LoanTexts.CREDIT_DESCRIPTION,
            LoanTexts.CREDIT_INPUT,
            LoanTexts.CREDIT_PROMPT,
            _tools,
            ITERATIONS
        )
    {
        book = _book;
        reader = _reader;
        pool = _reader.pool();
    }

    /// @notice Makes the checks; answers for example "Score 85 of 100: enough for the limit of 60". For the pool's agent.
    /// @inheritdoc IERCAgent
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        returns (int256 runId, string memory result)
    {
        _promptOf(input);
        if (msg.sender != address(pool.agent())) revert CallerNotAgent(msg.sender);
        if (!reader.hasRead(msg.sender)) revert CriteriaNotRead(msg.sender);
        _runOrRevert(pool.policy().criteria());
        return (-1, _tell());
    }

    /// @dev Compares the score with the limit. A required check that was not made is named.
    function _tell() private view returns (string memory) {
        ILoanPolicy policy = pool.policy();
        (bool exists, uint8 value, uint256 checks) = book.score(pool.openApplication().id);
        string memory limit = string.concat(" for the limit of ", policy.scoreLimit().toString());
        if (!exists) return string.concat("No score: not enough", limit);
        string memory score = string.concat("Score ", uint256(value).toString(), " of 100: ");
        uint256 missing = policy.requiredChecks() & ~checks;
        if (missing != 0) return string.concat(score, "not enough, without ", book.namesOf(missing));
        return string.concat(score, value < policy.scoreLimit() ? "not enough" : "enough", limit);
    }
}
