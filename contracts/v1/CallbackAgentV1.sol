// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IERCAgentClientV1} from "./interfaces/IERCAgentClientV1.sol";
import {AgentIterationResult, IERCAgentExecutorV1} from "./interfaces/IERCAgentExecutorV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {AbiString} from "../libraries/AbiString.sol";
import {RunOutcome} from "../libraries/RunOutcome.sol";
import {EscapedLine} from "./EscapedLine.sol";
import {Order} from "../callback/IAgentOracle.sol";
import {IAgentOracleClient, Outcome} from "../callback/IAgentOracleClient.sol";
import {OracleAgent} from "../callback/OracleAgent.sol";

/// @title A version-1 agent whose model runs off the chain, by an oracle
/// @notice The same prompt, tools and steps as `IERCAgentV1`, and the same oracle and rules as `CallbackAgent`. A run takes one
///   transaction to start and one for each answer of the model. What a step did stands, also if a later step fails.
///   - `ask` starts a run that its value pays for; `run` one that the agent's subscription pays for.
///   - The end of a run is in `statusOf` and `resultOf`, and goes to the result handler by
///     `handleAgentResult(uint256,string)`. A result that begins with `FAILED: ` is the reason why there is no answer. A run
///     whose answer is not done has the status NotDone.
///   - A tool may be asynchronous: the run waits for `handleAgentResult` from it.
/// @dev Inherit it, or deploy SimpleCallbackAgentV1.
abstract contract CallbackAgentV1 is IERCAgentToolV1, IERCAgentClientV1, IAgentOracleClient, ERC165, OracleAgent {
    /// @dev One run. `requestId` is that of the answer it waits for, `tool` and `toolRunId` the result it waits for.
    struct Run {
        address requester;
        uint64 deadline;
        Status status;
        bool delivered;
        address resultHandler;
        uint16 steps;
        address tool;
        bool hasEarlyResult;
        uint256 requestId;
        uint256 budgetId;
        uint256 toolRunId;
        uint256 earlyId;
        string prompt;
        string earlyResult;
        string result;
        string lastReasoning;
        string[] agentReasoning;
    }

    /// @notice Logged when the agent completes a run, as `IERCAgent` does.
    event AgentRunResult(uint256 indexed runId, address requester, string[] executionSteps, string answer);

    /// @notice A run began.
    event AgentRunStarted(uint256 indexed runId, address indexed requester, address resultHandler, string prompt);

    /// @notice The model chose a tool, and it was called.
    event AgentStep(uint256 indexed runId, uint256 step, address indexed tool, string agentReasoning);

    /// @notice The tool's result is there.
    event AgentToolResult(uint256 indexed runId, uint256 step, string result);

    /// @notice The tool is asynchronous; the run waits for its result.
    event AgentAwaitsTool(uint256 indexed runId, address indexed tool, uint256 toolRunId);

    /// @notice A run ended without an answer, or is not done.
    /// @param executionSteps what the run did, in order. It stands, but for a last step whose tool reverted
    /// @param reason begins with `FAILED: `; of a run that is not done its answer
    event AgentRunFailed(
        uint256 indexed runId, address requester, Status status, string[] executionSteps, string reason
    );

    /// @notice The result handler failed. Anybody may call `deliver`.
    event ResultNotDelivered(uint256 indexed runId, address resultHandler);

    /// @notice The input is not one parameter of type STRING.
    error UnexpectedInput(string reason);

    /// @notice No run waits for this result of this sender.
    error UnexpectedResult(address sender, uint256 toolRunId);

    /// @notice The run's deadline is not over, or it has ended.
    error CannotExpire(uint256 runId, Status status, uint256 deadline);

    /// @notice The run has not ended, or its result was delivered, or it has no result handler.
    error NothingToDeliver(uint256 runId);

    /// @notice What a synchronous tool returns as its run ID: the draft's -1.
    uint256 public constant SYNCHRONOUS = type(uint256).max;

    string public modelId;
    string agentName;
    string agentDescription;
    IERCAgentToolV1.InputDescription agentInputDescription;
    IERCAgentToolV1[] public tools;

    /// @notice The last run's ID; the first run's is 1.
    uint256 public currentRunId;

    /// @dev Which run waits for this request, or for this run of this tool; 0: none.
    mapping(uint256 requestId => uint256) private runOfRequest;
    mapping(address tool => mapping(uint256 toolRunId => uint256)) private runOfTool;

    /// @dev The run that calls this tool at this moment; 0: none.
    mapping(address tool => uint256) private runInCall;
    mapping(uint256 runId => Run) private runs;

    /// @notice Creates a new agent. The deployer owns it.
    /// @param _settings the oracle and what is asked of it
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _name the name of the agent
    /// @param _description the description of the agent; also what its model should aim for
    /// @param _inputDescription the description of its only parameter, `prompt`
    /// @param _tools the tools that the agent has
    /// @param _agentMaxIterations how many times a run asks the model at most. All but the last can use a tool.
    constructor(
        OracleSettings memory _settings,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        IERCAgentToolV1[] memory _tools,
        uint16 _agentMaxIterations
    ) OracleAgent(_settings, _agentMaxIterations) {
        modelId = _modelId;
        agentName = _name;
        agentDescription = _description;
        agentInputDescription.paramDescriptions.push(
            IERCAgentToolV1.ParamDescription(IERCAgentToolV1.ParamType.STRING, "prompt", _inputDescription)
        );
        tools = _tools;
    }

    // ---- Starting a run

    /// @notice Starts a run; the agent's subscription pays. For the owner and the callers whom it allowed.
    /// @param input one parameter of type STRING: the prompt
    /// @param resultHandler is called with the result; an address without code is not called
    /// @return runId the run's ID, 1 or more
    /// @return result empty: the result comes later
    function run(IERCAgentToolV1.Input memory input, address resultHandler)
        external
        virtual
        returns (uint256 runId, string memory result)
    {
        _authorize(msg.sender, true);
        if (subscriptionId == 0) revert NoSubscription();
        return (_start(_promptOf(input), resultHandler, subscriptionId), "");
    }

    /// @notice Starts a run; the call's value pays for it, `costOfRun` wei at least. What is left over is the caller's to
    ///   withdraw from the oracle.
    /// @param resultHandler is called with the result; an address without code is not called
    function ask(string memory prompt, address resultHandler) external payable virtual returns (uint256 runId) {
        _authorize(msg.sender, false);
        return _start(prompt, resultHandler, 0);
    }

    // ---- Going on

    /// @inheritdoc IAgentOracleClient
    function handleAnswer(uint256 requestId, Outcome outcome, bytes calldata output) external {
        if (msg.sender != address(oracle)) revert NotOracle(msg.sender);
        uint256 runId = runOfRequest[requestId];
        delete runOfRequest[requestId];
        Run storage current = runs[runId];
        if (current.status != Status.AskingModel || current.requestId != requestId) return; // it ended in the meantime

        if (outcome == Outcome.Expired) {
            _fail(runId, Status.DeadlinePassed, "no worker answered in time");
        } else if (outcome == Outcome.Refused) {
            string memory data = Strings.toHexString(uint32(bytes4(output)), 4);
            _fail(runId, Status.Refused, string.concat("the executor refused with error ", data));
        } else {
            try this.decodeIteration(output) returns (
                AgentIterationResult memory next, IERCAgentToolV1.Input memory input
            ) {
                _doStep(runId, next, input);
            } catch {
                _fail(runId, Status.MalformedAnswer, "the answer is not an AgentIterationResult");
            }
        }
    }

    /// @notice Takes the result of an asynchronous tool. For the tool that a run called.
    /// @param toolRunId what the tool's `run` returned, or is about to return
    function handleAgentResult(uint256 toolRunId, string memory result) external {
        uint256 runId = runOfTool[msg.sender][toolRunId];
        if (runId != 0) {
            delete runOfTool[msg.sender][toolRunId];
            runs[runId].status = Status.UsingTool;
            _finishStep(runId, result, true);
            return;
        }
        runId = runInCall[msg.sender];
        if (runId == 0 || runs[runId].hasEarlyResult) revert UnexpectedResult(msg.sender, toolRunId);
        runs[runId].hasEarlyResult = true;
        runs[runId].earlyId = toolRunId;
        runs[runId].earlyResult = result;
    }

    /// @notice Ends a run after its deadline. For everybody.
    function expireRun(uint256 runId) external {
        Run storage current = runs[runId];
        bool asksModel = current.status == Status.AskingModel;
        if ((!asksModel && current.status != Status.AwaitingTool) || block.timestamp <= current.deadline) {
            revert CannotExpire(runId, current.status, current.deadline);
        }
        if (asksModel) delete runOfRequest[current.requestId];
        else delete runOfTool[current.tool][current.toolRunId];
        _fail(runId, Status.DeadlinePassed, "the run took too long");
    }

    /// @notice Calls a result handler that failed once more. For everybody.
    function deliver(uint256 runId) external returns (bool delivered) {
        Run storage current = runs[runId];
        if (current.status < Status.Answered || current.delivered || !_hasCode(current.resultHandler)) {
            revert NothingToDeliver(runId);
        }
        return _deliver(runId);
    }

    // ---- Views

    /// @notice Returns where a run is.
    function statusOf(uint256 runId) external view returns (Status) {
        return runs[runId].status;
    }

    /// @notice Returns a run's answer, or the reason of its failure; empty before its end.
    function resultOf(uint256 runId) external view returns (string memory) {
        return runs[runId].result;
    }

    /// @notice Returns what a run did so far: thought, action, action input and observation of every step.
    function stepsOf(uint256 runId) external view returns (string[] memory agentReasoning) {
        return runs[runId].agentReasoning;
    }

    /// @notice Returns who started a run, with what, who gets the result, and whether it was delivered.
    function runOf(uint256 runId)
        external
        view
        returns (
            address requester,
            string memory prompt,
            address resultHandler,
            bool delivered,
            uint256 deadline,
            uint256 requestId,
            uint256 budgetId
        )
    {
        Run storage r = runs[runId];
        return (r.requester, r.prompt, r.resultHandler, r.delivered, r.deadline, r.requestId, r.budgetId);
    }

    /// @notice Returns the calldata for the executor with which a run's next request is made.
    function argumentsOf(uint256 runId) public view returns (bytes memory) {
        Run storage current = runs[runId];
        return abi.encodeCall(
            IERCAgentExecutorV1.runNextIteration,
            (modelId, agentName, agentDescription, tools, current.agentReasoning, current.prompt)
        );
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

    /// @notice Decodes an answer and the input of its tool, for this contract itself.
    /// @dev The tool's calldata name no result handler. The tool gets the input, and this agent as the handler.
    function decodeIteration(bytes calldata output)
        external
        view
        returns (AgentIterationResult memory next, IERCAgentToolV1.Input memory input)
    {
        next = abi.decode(output, (AgentIterationResult));
        if (!next.isFinalAnswer) input = this.decodeToolInput(next.toolInput);
    }

    /// @notice Decodes the calldata of a tool's `run`, for this contract itself.
    function decodeToolInput(bytes calldata toolInput) external pure returns (IERCAgentToolV1.Input memory input) {
        if (bytes4(toolInput) != IERCAgentToolV1.run.selector) revert UnexpectedInput("not the calldata of run");
        (input,) = abi.decode(toolInput[4:], (IERCAgentToolV1.Input, address));
    }

    /// @notice Tells which interfaces this agent has.
    function supportsInterface(bytes4 interfaceId) public view virtual override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentToolV1).interfaceId || interfaceId == type(IERCAgentClientV1).interfaceId
            || interfaceId == type(IAgentOracleClient).interfaceId || super.supportsInterface(interfaceId);
    }

    // ---- Private

    function _start(string memory prompt, address resultHandler, uint64 payingSubscription)
        private
        returns (uint256 runId)
    {
        runId = ++currentRunId;
        Run storage current = runs[runId];
        current.requester = msg.sender;
        current.resultHandler = resultHandler;
        current.deadline = uint64(block.timestamp) + runTimeout;
        current.status = Status.AskingModel;
        current.prompt = prompt;
        emit AgentRunStarted(runId, msg.sender, resultHandler, prompt);

        // The oracle calls nobody here, so the run's state can be completed after it.
        Order memory order = _order(runId);
        order.subscriptionId = payingSubscription;
        order.payer = msg.sender;
        order.steps = agentMaxIterations;
        order.callbackGasLimit = callbackGasLimit;
        order.lifetime = runTimeout + stepTimeout;
        (uint256 requestId, uint256 budgetId) = oracle.request{value: msg.value}(order);
        current.budgetId = budgetId;
        current.requestId = requestId;
        runOfRequest[requestId] = runId;
    }

    function _order(uint256 runId) private view returns (Order memory order) {
        order.arguments = argumentsOf(runId);
        order.budgetId = runs[runId].budgetId;
        order.timeout = stepTimeout;
    }

    function _askAgain(uint256 runId) private {
        Run storage current = runs[runId];
        current.status = Status.AskingModel;
        try oracle.request(_order(runId)) returns (uint256 requestId, uint256) {
            current.requestId = requestId;
            runOfRequest[requestId] = runId;
        } catch (bytes memory reason) {
            _requireReason(reason);
            _fail(runId, Status.RequestFailed, "the oracle did not take the next request");
        }
    }

    function _doStep(uint256 runId, AgentIterationResult memory next, IERCAgentToolV1.Input memory input)
        private
    {
        Run storage current = runs[runId];
        if (next.isFinalAnswer) return _finish(runId, next.finalAnswer);
        if (!_isTool(next.tool)) return _fail(runId, Status.MalformedAnswer, "the answer names no tool of this agent");

        uint256 step = current.agentReasoning.length;
        if (step + 1 >= agentMaxIterations) {
            return _fail(runId, Status.OutOfIterations, "the last iteration gave no answer");
        }
        current.lastReasoning = next.agentReasoning;
        current.status = Status.UsingTool;
        emit AgentStep(runId, step, address(next.tool), next.agentReasoning);
        _useTool(runId, next.tool, input);
    }

    function _useTool(uint256 runId, IERCAgentToolV1 tool, IERCAgentToolV1.Input memory toolInput) private {
        Run storage current = runs[runId];
        uint256 outerRun = runInCall[address(tool)];
        runInCall[address(tool)] = runId;
        (bool success, bytes memory output) = _callTool(address(tool), abi.encodeCall(tool.run, (toolInput, address(this))));
        runInCall[address(tool)] = outerRun;

        bool isEarly = current.hasEarlyResult;
        string memory earlyResult = current.earlyResult;
        if (isEarly) {
            current.hasEarlyResult = false;
            current.earlyResult = "";
        }
        string memory who = Strings.toChecksumHexString(address(tool));
        if (!success) {
            (bool isNotDone, string memory answer) = RunOutcome.readNotDone(output);
            if (isNotDone) return _finishStep(runId, answer, false);
            return _fail(runId, Status.ToolFailed, string.concat("tool ", who, " reverted"));
        }
        if (!AbiString.isAt(output, 1)) {
            return _fail(runId, Status.ToolFailed, string.concat("tool ", who, " returned no run ID and string"));
        }
        (uint256 toolRunId, string memory result) = abi.decode(output, (uint256, string));
        if (toolRunId == SYNCHRONOUS) return _finishStep(runId, result, false);
        if (runOfTool[address(tool)][toolRunId] != 0 || (isEarly && current.earlyId != toolRunId)) {
            return _fail(runId, Status.ToolFailed, string.concat("tool ", who, " returned a wrong run ID"));
        }
        if (isEarly) return _finishStep(runId, earlyResult, true);

        current.status = Status.AwaitingTool;
        current.tool = address(tool);
        current.toolRunId = toolRunId;
        runOfTool[address(tool)][toolRunId] = runId;
        emit AgentAwaitsTool(runId, address(tool), toolRunId);
    }

    /// @dev A synchronous tool that fails reverts. An asynchronous one can only say so.
    function _finishStep(uint256 runId, string memory result, bool isAwaited) private {
        Run storage current = runs[runId];
        uint256 step = current.agentReasoning.length;
        current.agentReasoning.push(
            string.concat(current.lastReasoning, "\nObservation: ", EscapedLine.escape(result), "\n")
        );
        emit AgentToolResult(runId, step, result);
        if (isAwaited && _isFailure(result)) {
            return _fail(runId, Status.ToolFailed, string.concat("a tool said: ", result));
        }
        if (!RunOutcome.isDone(result)) {
            // No model reads what a nested agent did not do, so none can act on it.
            return _finish(runId, result);
        }
        _askAgain(runId);
    }

    function _finish(uint256 runId, string memory finalAnswer) private {
        Run storage current = runs[runId];
        if (RunOutcome.isDone(finalAnswer)) {
            emit AgentRunResult(runId, current.requester, current.agentReasoning, finalAnswer);
            _end(runId, Status.Answered, finalAnswer);
        } else {
            emit AgentRunFailed(runId, current.requester, Status.NotDone, current.agentReasoning, finalAnswer);
            _end(runId, Status.NotDone, finalAnswer);
        }
    }

    function _fail(uint256 runId, Status status, string memory reason) private {
        Run storage current = runs[runId];
        reason = string.concat(FAILURE_PREFIX, reason);
        emit AgentRunFailed(runId, current.requester, status, current.agentReasoning, reason);
        _end(runId, status, reason);
    }

    function _end(uint256 runId, Status status, string memory result) private {
        Run storage current = runs[runId];
        current.status = status;
        current.result = result;
        // It fails only if somebody released the budget after its lifetime, and then there is nothing to give back.
        try oracle.release(current.budgetId) {}
        catch (bytes memory reason) {
            _requireReason(reason);
        }
        if (_hasCode(current.resultHandler)) _deliver(runId);
    }

    /// @dev Return data are not copied, so a handler can't waste this contract's gas by them.
    function _deliver(uint256 runId) private returns (bool success) {
        Run storage current = runs[runId];
        current.delivered = true; // the handler may call back into this contract
        address handler = current.resultHandler;
        bytes memory data = abi.encodeCall(IERCAgentClientV1.handleAgentResult, (runId, current.result));
        assembly ("memory-safe") {
            success := call(gas(), handler, 0, add(data, 32), mload(data), 0, 0)
        }
        if (success) return true;
        current.delivered = false;
        emit ResultNotDelivered(runId, handler);
    }

    function _isTool(IERCAgentToolV1 tool) private view returns (bool) {
        for (uint256 i = 0; i < tools.length; i++) {
            if (address(tools[i]) == address(tool)) return true;
        }
        return false;
    }

    function _promptOf(IERCAgentToolV1.Input memory input) internal pure returns (string memory) {
        if (input.params.length != 1) revert UnexpectedInput("one parameter expected");
        if (input.params[0].paramType != IERCAgentToolV1.ParamType.STRING) revert UnexpectedInput("a STRING expected");
        if (!AbiString.isAt(input.params[0].value, 0)) revert UnexpectedInput("value is not an ABI-encoded string");
        return abi.decode(input.params[0].value, (string));
    }
}
