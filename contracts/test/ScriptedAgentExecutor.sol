// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {AgentIterationResult, IERCAgentExecutor} from "../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AddressBook} from "./executor/AddressBook.sol";
import {Bytes} from "./executor/Bytes.sol";
import {EtchedExecutor} from "./executor/EtchedExecutor.sol";
import {SpokenStep} from "./executor/SpokenStep.sol";
import {ToolArguments} from "./executor/ToolArguments.sol";

/// @title An executor for tests in any EVM that says what a script tells it to
/// @notice Put its runtime code at 0x19: `AgentScript.install()` in forge, `anvil_setCode`, `hardhat_setCode`. A script
///   is one list of steps in the order in which they are asked for, nested agents' among them. Each returns exactly
///   what the precompile returns where a model says the same, and what no model could say is refused: a tool that
///   is not on offer, an address that no text of the request has, control characters. `giveResult` and `fail` are for
///   what a model can't do.
/// @dev A call that is reverted gives its steps back, as it does everything. In a static call no step can be noted as
///   taken: there it answers with the step that stands as many behind the next one as the run has taken.
contract ScriptedAgentExecutor is EtchedExecutor {
    using AddressBook for AddressBook.Book;

    /// @notice Another step was asked for than the script has.
    /// @param steps how many it has
    /// @param prompt the input of the run that asked
    /// @param stepsOfRun how many that run had taken
    error ScriptUsedUp(uint256 steps, string prompt, uint256 stepsOfRun);

    /// @notice The test ended and the script didn't.
    /// @param left the first step that nobody asked for
    error ScriptNotUsedUp(uint256 usedSteps, uint256 steps, string left);

    /// @notice The agent that asks has no such tool.
    /// @param offered the names of those that it has
    error ToolNotOffered(uint256 step, string tool, string offered);

    /// @notice The arguments aren't `abi.encode` of what the tool takes.
    /// @param expected the tool's parameters
    error WrongArguments(uint256 step, string tool, string expected, bytes arguments);

    /// @notice No model could say this.
    /// @param what the thought, the answer, or the arguments of a tool
    error NotSayable(uint256 step, string what, string reason);

    enum Kind {
        USE,
        ANSWER,
        RESULT,
        FAILURE
    }

    /// @param text the tool's name, or the answer
    /// @param thought what is said before; where empty, a plain sentence
    /// @param data the tool's arguments, or what is returned or reverted with as it stands
    struct Step {
        Kind kind;
        string text;
        string thought;
        bytes data;
    }

    struct Request {
        Tool[] tools;
        AddressBook.Book book;
        uint256 step;
    }

    struct Script {
        uint256 usedSteps;
        Step[] steps;
    }

    /// @dev Where its storage begins: another executor's code may have stood at this address before.
    bytes32 private constant STORAGE = keccak256("pyevm-agents.ScriptedAgentExecutor");

    // -- the script -- //

    /// @notice Adds a step that uses a tool.
    /// @param tool its name
    /// @param arguments `abi.encode` of its arguments in their order; for none, empty
    /// @param thought what is said before; where empty, "I should use <tool>."
    function use(string calldata tool, bytes calldata arguments, string calldata thought) external {
        _script().steps.push(Step(Kind.USE, tool, thought, arguments));
    }

    /// @notice Adds a step that ends a run.
    /// @param thought what is said before; where empty, "I now know the final answer"
    function answer(string calldata text, string calldata thought) external {
        _script().steps.push(Step(Kind.ANSWER, text, thought, ""));
    }

    /// @notice Adds a step that returns these data, whatever they are: `abi.encode` of an `AgentIterationResult` that no
    ///   model could have said, or garbage.
    function giveResult(bytes calldata data) external {
        _script().steps.push(Step(Kind.RESULT, "", "", data));
    }

    /// @notice Adds a step that reverts with these data, such as those of `OutputTooLong(512)`.
    /// @dev The revert undoes that it was asked for: the next call gets it as well.
    function fail(bytes calldata data) external {
        _script().steps.push(Step(Kind.FAILURE, "", "", data));
    }

    /// @notice Forgets the script.
    function clear() external {
        delete _script().steps;
        _script().usedSteps = 0;
    }

    /// @notice Returns how many steps the script has.
    function steps() external view returns (uint256) {
        return _script().steps.length;
    }

    /// @notice Returns how many steps were asked for.
    function usedSteps() external view returns (uint256) {
        return _script().usedSteps;
    }

    /// @notice Reverts unless every step was asked for.
    function assertDone() external view {
        Script storage script = _script();
        uint256 used = script.usedSteps;
        if (used < script.steps.length) {
            revert ScriptNotUsedUp(used, script.steps.length, _shown(script.steps[used]));
        }
    }

    // -- the executor -- //

    /// @inheritdoc IERCAgentExecutor
    function runNextIteration(
        string memory,
        string memory basePrompt,
        IERCAgentTool[] memory tools,
        string[] memory agentReasoning,
        string[] memory toolResults,
        string memory prompt
    ) external returns (AgentIterationResult memory) {
        uint256 stepsOfRun = _countSteps(agentReasoning, toolResults);
        Request memory request;
        request.tools = _readTools(tools);
        request.book = AddressBook.collect(basePrompt, prompt, toolResults);
        Script storage script = _script();
        request.step = script.usedSteps;
        if (!_note(request.step)) request.step += stepsOfRun;
        uint256 count = script.steps.length;
        if (request.step >= count) revert ScriptUsedUp(count, prompt, stepsOfRun);
        return _say(script.steps[request.step], request);
    }

    function _stepTaken(uint256 step) internal override {
        _script().usedSteps = step + 1;
    }

    function _script() private pure returns (Script storage script) {
        bytes32 slot = STORAGE;
        assembly ("memory-safe") {
            script.slot := slot
        }
    }

    function _say(Step memory step, Request memory request) private pure returns (AgentIterationResult memory result) {
        if (step.kind == Kind.USE) return _use(step, request, _find(step, request));
        if (step.kind != Kind.ANSWER) {
            bytes memory data = step.data;
            bool isFailure = step.kind == Kind.FAILURE;
            assembly ("memory-safe") {
                if isFailure { revert(add(data, 32), mload(data)) }
                return(add(data, 32), mload(data))
            }
        }
        string memory thought = bytes(step.thought).length == 0 ? "I now know the final answer" : step.thought;
        string memory reason;
        (, reason) = SpokenStep.thought(request.book, thought);
        _require(request, "the thought", reason);
        string memory spoken;
        (spoken, reason) = SpokenStep.answer(request.book, step.text);
        _require(request, "the answer", reason);
        result.isFinalAnswer = true;
        result.finalAnswer = request.book.expand(spoken);
    }

    function _use(Step memory step, Request memory request, Tool memory tool)
        private
        pure
        returns (AgentIterationResult memory result)
    {
        (bool isValid, bytes[] memory values) = ToolArguments.split(tool.parameters, step.data);
        if (!isValid) {
            revert WrongArguments(request.step, tool.name, ToolArguments.signature(tool.parameters), step.data);
        }
        string memory reason;
        string memory thought = step.thought;
        if (bytes(thought).length == 0) thought = string.concat("I should use ", tool.name, ".");
        (thought, reason) = SpokenStep.thought(request.book, thought);
        _require(request, "the thought", reason);
        string memory json;
        (json, values, reason) = SpokenStep.arguments(request.book, tool.parameters, values);
        _require(request, string.concat("an argument of ", tool.name), reason);
        result.tool = tool.source;
        result.toolInput = ToolArguments.input(tool.parameters, values);
        result.agentReasoning = string.concat(
            "Thought: ",
            request.book.expand(thought),
            "\nAction: ",
            tool.name,
            "\nAction Input: ",
            json
        );
    }

    function _find(Step memory step, Request memory request) private pure returns (Tool memory) {
        string memory offered;
        for (uint256 i = 0; i < request.tools.length; i++) {
            Tool memory tool = request.tools[i];
            if (Bytes.equal(bytes(tool.name), bytes(step.text))) return tool;
            offered = string.concat(offered, i == 0 ? "" : ", ", tool.name);
        }
        revert ToolNotOffered(request.step, step.text, offered);
    }

    function _require(Request memory request, string memory what, string memory reason) private pure {
        if (bytes(reason).length != 0) revert NotSayable(request.step, what, reason);
    }

    function _shown(Step memory step) private pure returns (string memory) {
        if (step.kind == Kind.ANSWER) return string.concat("answer: ", step.text);
        if (step.kind == Kind.USE) return string.concat("use: ", step.text);
        return step.kind == Kind.RESULT ? "a result as it stands" : "a failure";
    }
}
