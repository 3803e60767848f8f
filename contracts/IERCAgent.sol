// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {AgentIterationResult, IERCAgentExecutor} from "./interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "./interfaces/IERCAgentTool.sol";
import {AbiString} from "./libraries/AbiString.sol";
import {RunOutcome} from "./libraries/RunOutcome.sol";

/// @title A synchronous agent that is backed by an on-chain executor
/// @notice Subclass it to make an agent for any task. An agent is a tool as well, so other agents can use it.
///   Within one transaction the agent asks the executor what to do next and does it, until it has an answer.
/// @dev Differs from the ERC's text where that doesn't run:
///   - a tool is called with `abi.encodeCall(tool.run, (toolInput, address(0)))`; the ERC passes
///     `abiEncodedParams` alone, which is not the encoding of `run`'s arguments;
///   - a failing tool's own reason is kept inside `ToolCallFailed`; the ERC drops it;
///   - every refusal is a typed error in place of a message;
///   - the run ID is taken once, before the first tool runs, so a re-entrant run can't change it;
///   - a run whose answer is not done reverts with `RunOutcome.NotDone`, if it used a tool. So does one whose tool's
///     result is not done, or whose tool reverted so: no model reads it.
abstract contract IERCAgent is IERCAgentTool {
    /// @notice Logged when the agent completes a run.
    /// @param runId the ID of the run: 1 for the agent's first one
    /// @param requester the address that requested this run
    /// @param executionSteps what the agent did, in order: thought, action and action input of every tool use
    /// @param answer the answer returned by the agent
    event AgentRunResult(int256 indexed runId, address requester, string[] executionSteps, string answer);

    /// @notice The input is not one parameter of type STRING.
    error UnexpectedInput(string reason);

    /// @notice The executor's address answered with nothing: there is no executor on this chain.
    error ExecutorMissing(address executor);

    /// @notice The tool reverted.
    /// @param reason the tool's own revert data
    error ToolCallFailed(address tool, bytes reason);

    /// @notice The tool returned something else than a run ID and a string.
    /// @param size the number of bytes it returned
    error MalformedToolResult(address tool, uint256 size);

    /// @notice The tool started an asynchronous run; this agent needs the result within the transaction.
    error AsynchronousToolUnsupported(address tool, int256 runId);

    /// @notice The agent used its last iteration without an answer. Everything its tools did is undone.
    error NoFinalAnswer(uint16 maxIterations);

    address public agentExecutorContract;
    string public modelId;
    string agentName;
    string agentDescription;
    string public basePrompt;
    IERCAgentTool.InputDescription agentInputDescription;
    IERCAgentTool[] public tools;
    uint16 public agentMaxIterations;
    int256 public currentRunId;

    /// @notice Creates a new agent.
    /// @param _agentExecutorContract a contract that implements IERCAgentExecutor; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _name the name of the agent
    /// @param _description the description of the agent: what it does, and when to use it
    /// @param _inputDescription the description of its only parameter, `prompt`
    /// @param _basePrompt describes the agent's task to the model
    /// @param _tools the tools that the agent has
    /// @param _agentMaxIterations how many times a run asks the model at most. All but the last can use a tool.
    constructor(
        address _agentExecutorContract,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        string memory _basePrompt,
        IERCAgentTool[] memory _tools,
        uint16 _agentMaxIterations
    ) {
        agentExecutorContract = _agentExecutorContract;
        modelId = _modelId;
        agentName = _name;
        agentDescription = _description;
        basePrompt = _basePrompt;
        agentInputDescription.paramDescriptions.push(
            IERCAgentTool.ParamDescription(IERCAgentTool.ParamType.STRING, "prompt", _inputDescription)
        );
        tools = _tools;
        agentMaxIterations = _agentMaxIterations;
    }

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory) {
        return agentName;
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory) {
        return agentDescription;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (IERCAgentTool.InputDescription memory) {
        return agentInputDescription;
    }

    /// @notice Returns the tools of this agent, in the order in which its model sees them.
    function getTools() external view returns (IERCAgentTool[] memory) {
        return tools;
    }

    /// @notice Runs the agent with the given input synchronously.
    /// @param input one parameter of type STRING: the prompt
    /// @dev The second argument, the result handler, is unused: only synchronous execution is supported.
    /// @return runId -1, as the run is synchronous
    /// @return result the agent's answer
    function run(IERCAgentTool.Input memory input, address)
        external
        virtual
        returns (int256 runId, string memory result)
    {
        return (-1, _run(_promptOf(input)));
    }

    /// @notice The reasoning loop: asks the executor, uses the tool it names, and so on until the final answer.
    /// @dev Anybody may call `run` of this base. A subclass that guards it overrides it and calls this, or `_runOrRevert`.
    ///   A run that used a tool does all that was asked, or reverts with `RunOutcome.NotDone`. One that used none can return
    ///   an answer that is not done.
    function _run(string memory prompt) internal returns (string memory answer) {
        int256 runId = ++currentRunId;
        string[] memory agentReasoning = new string[](agentMaxIterations);
        string[] memory toolResults = new string[](agentMaxIterations);

        for (uint256 iteration = 0; iteration < agentReasoning.length; iteration++) {
            AgentIterationResult memory next = _nextIteration(agentReasoning, toolResults, prompt);

            if (next.isFinalAnswer) return _finish(runId, agentReasoning, iteration, next.finalAnswer);

            string memory result = _runTool(next.tool, next.toolInput);
            agentReasoning[iteration] = next.agentReasoning;
            toolResults[iteration] = result;
            if (!RunOutcome.isDone(result)) {
                // No model reads what a nested agent did not do, so none can act on it.
                revert RunOutcome.NotDone(RunOutcome.addSteps(result, agentReasoning, toolResults, iteration));
            }
        }

        revert NoFinalAnswer(agentMaxIterations);
    }

    /// @notice Runs the loop, and reverts with `RunOutcome.NotDone` whenever the answer is not done, also before any tool.
    /// @dev For agents that move value, so that no caller takes a refusal for an answer.
    function _runOrRevert(string memory prompt) internal returns (string memory answer) {
        answer = _run(prompt);
        RunOutcome.requireDone(answer);
    }

    function _finish(int256 runId, string[] memory agentReasoning, uint256 steps, string memory answer)
        private
        returns (string memory)
    {
        if (steps != 0) RunOutcome.requireDone(answer);
        string[] memory executionSteps = new string[](steps);
        for (uint256 i = 0; i < steps; i++) executionSteps[i] = agentReasoning[i];
        emit AgentRunResult(runId, msg.sender, executionSteps, answer);
        return answer;
    }

    /// @dev A low-level call, so that a chain without an executor gives a reason; the executor's own errors are
    ///   passed on unchanged, as a high-level call does.
    function _nextIteration(string[] memory agentReasoning, string[] memory toolResults, string memory prompt)
        private
        returns (AgentIterationResult memory)
    {
        (bool success, bytes memory output) = agentExecutorContract.call(
            abi.encodeCall(
                IERCAgentExecutor.runNextIteration,
                (modelId, basePrompt, tools, agentReasoning, toolResults, prompt)
            )
        );
        if (!success) {
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
        if (output.length == 0) revert ExecutorMissing(agentExecutorContract);
        return abi.decode(output, (AgentIterationResult));
    }

    function _runTool(IERCAgentTool tool, IERCAgentTool.Input memory toolInput) private returns (string memory) {
        (bool success, bytes memory output) = address(tool).call(abi.encodeCall(tool.run, (toolInput, address(0))));
        if (!success) {
            // A nested agent that undid its run, and one that declined before it did anything, end this run alike.
            (bool isNotDone, string memory answer) = RunOutcome.readNotDone(output);
            if (isNotDone) return answer;
            revert ToolCallFailed(address(tool), output);
        }
        if (!AbiString.isAt(output, 1)) revert MalformedToolResult(address(tool), output.length);

        (int256 toolRunId, string memory result) = abi.decode(output, (int256, string));
        if (toolRunId != -1) revert AsynchronousToolUnsupported(address(tool), toolRunId);
        return result;
    }

    function _promptOf(IERCAgentTool.Input memory input) internal pure returns (string memory) {
        if (input.params.length != 1) revert UnexpectedInput("one parameter expected");
        if (input.params[0].paramType != IERCAgentTool.ParamType.STRING) revert UnexpectedInput("a STRING expected");
        if (!AbiString.isAt(input.params[0].value, 0)) revert UnexpectedInput("value is not an ABI-encoded string");
        return abi.decode(input.params[0].value, (string));
    }
}
