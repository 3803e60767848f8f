// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {AbiString} from "../libraries/AbiString.sol";
import {RunOutcome} from "../libraries/RunOutcome.sol";
import {EscapedLine} from "./EscapedLine.sol";
import {AgentIterationResult, IERCAgentExecutorV1} from "./interfaces/IERCAgentExecutorV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";

/// @title A synchronous agent of the ERC's first draft, there `IERCAgent`
/// @notice Subclass it. Within one transaction the agent asks the executor what to do next and does it, until it has an
///   answer. Its description is its prompt.
/// @dev The folder's README lists what differs from the draft's text, and why.
abstract contract IERCAgentV1 is IERCAgentToolV1, ERC165 {
    /// @notice Logged when the agent completes a run.
    /// @param runId the ID of the run: 1 for the agent's first one
    /// @param requester the address that requested this run
    /// @param executionSteps what the agent did, in order: thought, action, action input and observation of every tool use
    /// @param answer the answer returned by the agent
    event AgentRunResult(uint256 indexed runId, address requester, string[] executionSteps, string answer);

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
    error AsynchronousToolUnsupported(address tool, uint256 runId);

    /// @notice The agent used its last iteration without an answer. Everything its tools did is undone.
    error NoFinalAnswer(uint16 maxIterations);

    /// @notice The run ID of a synchronous run: the draft's -1 in its own type.
    uint256 public constant SYNCHRONOUS = type(uint256).max;

    address public agentExecutorContract;
    string public modelId;
    string agentName;
    string agentDescription;
    IERCAgentToolV1.InputDescription agentInputDescription;
    IERCAgentToolV1[] public tools;
    uint16 public agentMaxIterations;
    uint256 public currentRunId;

    /// @notice Creates a new agent.
    /// @param _agentExecutorContract a contract that implements IERCAgentExecutorV1; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _name the name of the agent
    /// @param _description the description of the agent; also what its model should aim for
    /// @param _inputDescription the description of its only parameter, `prompt`
    /// @param _tools the tools that the agent has
    /// @param _agentMaxIterations how many times a run asks the model at most. All but the last can use a tool.
    constructor(
        address _agentExecutorContract,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        IERCAgentToolV1[] memory _tools,
        uint16 _agentMaxIterations
    ) {
        agentExecutorContract = _agentExecutorContract;
        modelId = _modelId;
        agentName = _name;
        agentDescription = _description;
        agentInputDescription.paramDescriptions.push(
            IERCAgentToolV1.ParamDescription(IERCAgentToolV1.ParamType.STRING, "prompt", _inputDescription)
        );
        tools = _tools;
        agentMaxIterations = _agentMaxIterations;
    }

    /// @inheritdoc IERCAgentToolV1
    function name() external view returns (string memory) {
        return agentName;
    }

    /// @inheritdoc IERCAgentToolV1
    function description() external view returns (string memory) {
        return agentDescription;
    }

    /// @inheritdoc IERCAgentToolV1
    function inputDescription() external view returns (IERCAgentToolV1.InputDescription memory) {
        return agentInputDescription;
    }

    /// @notice Returns the tools of this agent, in the order in which its model sees them.
    function getTools() external view returns (IERCAgentToolV1[] memory) {
        return tools;
    }

    /// @notice Tells which interfaces this agent has.
    function supportsInterface(bytes4 interfaceId) public view virtual override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentToolV1).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @notice Runs the agent with the given input synchronously.
    /// @param input one parameter of type STRING: the prompt
    /// @dev The second argument, the result handler, is unused: only synchronous execution is supported.
    /// @return runId SYNCHRONOUS
    /// @return result the agent's answer
    function run(IERCAgentToolV1.Input memory input, address)
        external
        virtual
        returns (uint256 runId, string memory result)
    {
        return (SYNCHRONOUS, _run(_promptOf(input)));
    }

    /// @notice The reasoning loop: asks the executor, uses the tool it names, and so on until the final answer.
    /// @dev Anybody may call `run` of this base. A subclass that guards it overrides it and calls this, or `_runOrRevert`.
    ///   A run that used a tool does all that was asked, or reverts with `RunOutcome.NotDone`. One that used none can return
    ///   an answer that is not done.
    function _run(string memory prompt) internal returns (string memory answer) {
        uint256 runId = ++currentRunId;
        string[] memory agentReasoning = new string[](agentMaxIterations);
        string[] memory toolResults = new string[](agentMaxIterations);

        for (uint256 iteration = 0; iteration < agentReasoning.length; iteration++) {
            AgentIterationResult memory next = _nextIteration(agentReasoning, prompt);
            if (next.isFinalAnswer) return _finish(runId, agentReasoning, iteration, next.finalAnswer);

            string memory result = _runTool(next.tool, next.toolInput);
            agentReasoning[iteration] =
                string.concat(next.agentReasoning, "\nObservation: ", EscapedLine.escape(result), "\n");
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

    function _finish(uint256 runId, string[] memory agentReasoning, uint256 steps, string memory answer)
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
    function _nextIteration(string[] memory agentReasoning, string memory prompt)
        private
        returns (AgentIterationResult memory)
    {
        (bool success, bytes memory output) = agentExecutorContract.call(
            abi.encodeCall(
                IERCAgentExecutorV1.runNextIteration,
                (modelId, agentName, agentDescription, tools, agentReasoning, prompt)
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

    function _runTool(IERCAgentToolV1 tool, bytes memory toolInput) private returns (string memory) {
        (bool success, bytes memory output) = address(tool).call(toolInput);
        if (!success) {
            // A nested agent that undid its run, and one that declined before it did anything, end this run alike.
            (bool isNotDone, string memory answer) = RunOutcome.readNotDone(output);
            if (isNotDone) return answer;
            revert ToolCallFailed(address(tool), output);
        }
        if (!AbiString.isAt(output, 1)) revert MalformedToolResult(address(tool), output.length);

        (uint256 toolRunId, string memory result) = abi.decode(output, (uint256, string));
        if (toolRunId != SYNCHRONOUS) revert AsynchronousToolUnsupported(address(tool), toolRunId);
        return result;
    }

    function _promptOf(IERCAgentToolV1.Input memory input) internal pure returns (string memory) {
        if (input.params.length != 1) revert UnexpectedInput("one parameter expected");
        if (input.params[0].paramType != IERCAgentToolV1.ParamType.STRING) {
            revert UnexpectedInput("a STRING expected");
        }
        if (!AbiString.isAt(input.params[0].value, 0)) revert UnexpectedInput("value is not an ABI-encoded string");
        return abi.decode(input.params[0].value, (string));
    }
}
