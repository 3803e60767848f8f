// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {AgentIterationResult, IERCAgentExecutor} from "../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AddressBook} from "./executor/AddressBook.sol";
import {Bytes} from "./executor/Bytes.sol";
import {EtchedExecutor} from "./executor/EtchedExecutor.sol";
import {IDraftExecutor} from "./executor/IDraftExecutor.sol";
import {ToolArguments} from "./executor/ToolArguments.sol";

/// @notice What a model read of a tool.
struct RecordedTool {
    string name;
    string description;
    IERCAgentTool.ParamDescription[] parameters;
}

/// @notice One use of a model: what it was asked, and what it said, with the addresses of the chain it was recorded on.
///   It is the same for both versions of the ERC: version 1's description of the agent is its base prompt, and the
///   observations in its reasoning are tool results.
/// @param agentReasoning the steps that the run had taken, without empty ones; of the same length as `toolResults`
/// @param answer the final answer; empty where a tool was used
/// @param tool the position of the used tool in `tools`
/// @param values `abi.encode` of each argument
/// @param reasoning thought, action and action input; empty for a final answer
/// @param promptGas what reading the prompt cost
/// @param outputGas what the words cost
struct RecordedStep {
    string modelId;
    string basePrompt;
    RecordedTool[] tools;
    string[] agentReasoning;
    string[] toolResults;
    string prompt;
    bool isFinalAnswer;
    string answer;
    uint256 tool;
    bytes[] values;
    string reasoning;
    uint256 promptGas;
    uint256 outputGas;
}

/// @title An executor for tests in any EVM that says again what a model said
/// @notice Put its runtime code at 0x19, then record the steps that `pyevm-agents export-replay` wrote. It answers a
///   request that the model would have read the same text for, and refuses every other one with what differs. A model
///   reads handles in place of addresses: the addresses of a request may be others than the recorded ones, so the same
///   agent may be deployed elsewhere. They are told apart by where they first appear, and what was said of the
///   recorded one is said of the one in its place. It answers both versions of the ERC, by selector.
/// @dev Answers depend on the request alone: their order, repeated and static calls don't matter.
contract ReplayAgentExecutor is EtchedExecutor, IDraftExecutor {
    using AddressBook for AddressBook.Book;

    /// @dev `run(Input, address)` of a version-1 tool.
    bytes4 private constant RUN_V1 = 0xecb94c0c;

    /// @notice Nothing was recorded for this request. Of the recorded steps, the closest one differs here:
    /// @param step its position in the record, from 0
    /// @param field the first argument of `runNextIteration` that differs, such as `prompt` or `toolResults[1]`
    /// @param recorded what was recorded, with `<address 1>` for the first address that the request names, and so on
    /// @param asked what was asked now
    error NotRecorded(uint256 step, string field, string recorded, string asked);

    /// @notice Nothing was recorded at all: call `record` first, or `load` of an exported library.
    error NothingRecorded();

    /// @notice Two steps of the record have the same request and different answers.
    error ContradictoryRecord(uint256 step, uint256 other);

    /// @notice The test ended and nobody asked for this step.
    error NotReplayed(uint256 replayedSteps, uint256 steps, uint256 step, string prompt, uint256 stepsOfRun);

    /// @dev One part of a request, as it is compared.
    struct Field {
        string name;
        string text;
    }

    struct Recorded {
        uint256 replayedSteps;
        uint256 inferenceGas;
        bytes[] steps;
        mapping(bytes32 request => uint256 stepAndOne) stepOf;
        mapping(uint256 step => uint256) gasOf;
        mapping(uint256 step => bool) isReplayed;
    }

    /// @dev Where its storage begins: another executor's code may have stood at this address before. The first word
    ///   counts how often the record was forgotten; each record has a place of its own.
    bytes32 private constant STORAGE = keccak256("pyevm-agents.ReplayAgentExecutor");

    // -- the record -- //

    /// @notice Adds a step. One that is there already is not added again.
    function record(RecordedStep memory step) external {
        bytes32 key = _key(_fields(step, _book(step)));
        bytes memory encoded = abi.encode(step);
        Recorded storage recorded = _recorded();
        uint256 count = recorded.steps.length;
        uint256 other = recorded.stepOf[key];
        if (other == 0) {
            recorded.gasOf[count] = step.promptGas + step.outputGas;
            recorded.steps.push(encoded);
            recorded.stepOf[key] = count + 1;
        } else if (!_saysTheSame(step, _stepAt(recorded, other - 1))) {
            revert ContradictoryRecord(count, other - 1);
        }
    }

    /// @notice Forgets the record.
    function clear() external {
        bytes32 slot = STORAGE;
        assembly ("memory-safe") {
            sstore(slot, add(sload(slot), 1))
        }
    }

    /// @notice Returns how many different steps were recorded.
    function steps() external view returns (uint256) {
        return _recorded().steps.length;
    }

    /// @notice Returns how many times a step was answered.
    function replayedSteps() external view returns (uint256) {
        return _recorded().replayedSteps;
    }

    /// @notice Returns the gas that the recorded model took for what was replayed. It is no part of the gas that is
    ///   used here.
    function inferenceGas() external view returns (uint256) {
        return _recorded().inferenceGas;
    }

    /// @notice Reverts unless every recorded step was asked for, and where there is none.
    function assertDone() external view {
        Recorded storage recorded = _recorded();
        uint256 count = recorded.steps.length;
        if (count == 0) revert NothingRecorded();
        for (uint256 i = 0; i < count; i++) {
            if (recorded.isReplayed[i]) continue;
            RecordedStep memory left = _stepAt(recorded, i);
            revert NotReplayed(recorded.replayedSteps, count, i, left.prompt, left.agentReasoning.length);
        }
    }

    // -- the executor -- //

    /// @inheritdoc IERCAgentExecutor
    function runNextIteration(
        string memory modelId,
        string memory basePrompt,
        IERCAgentTool[] memory tools,
        string[] memory agentReasoning,
        string[] memory toolResults,
        string memory prompt
    ) external returns (AgentIterationResult memory) {
        RecordedStep memory asked;
        (asked.modelId, asked.basePrompt, asked.prompt) = (modelId, basePrompt, prompt);
        (asked.agentReasoning, asked.toolResults) = (agentReasoning, toolResults);
        return _replay(asked, tools);
    }

    /// @inheritdoc IDraftExecutor
    function runNextIteration(
        string memory modelId,
        string memory,
        string memory agentDescription,
        IERCAgentTool[] memory tools,
        string[] memory agentReasoning,
        string memory prompt
    ) external returns (Result memory result) {
        RecordedStep memory asked;
        (asked.modelId, asked.basePrompt, asked.prompt) = (modelId, agentDescription, prompt);
        (asked.agentReasoning, asked.toolResults) = _splitSteps(agentReasoning);
        AgentIterationResult memory said = _replay(asked, tools);
        result = Result(said.isFinalAnswer, said.finalAnswer, said.tool, "", said.agentReasoning);
        if (!said.isFinalAnswer) {
            result.toolInput = abi.encodeWithSelector(RUN_V1, Input(said.toolInput.params), address(0));
        }
    }

    /// @notice Tells which interfaces this executor has, as the precompile does: ERC-165, and those of both versions.
    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == 0x01ffc9a7 || interfaceId == type(IERCAgentExecutor).interfaceId
            || interfaceId == type(IDraftExecutor).interfaceId;
    }

    function _replay(RecordedStep memory asked, IERCAgentTool[] memory tools)
        private
        returns (AgentIterationResult memory)
    {
        uint256 count = _countSteps(asked.agentReasoning, asked.toolResults);
        asked.tools = _described(_readTools(tools));
        (string[] memory agentReasoning, string[] memory toolResults) = (asked.agentReasoning, asked.toolResults);
        assembly ("memory-safe") {
            mstore(agentReasoning, count)
            mstore(toolResults, count)
        }
        AddressBook.Book memory book = _book(asked);
        Field[] memory fields = _fields(asked, book);
        Recorded storage recorded = _recorded();
        uint256 found = recorded.stepOf[_key(fields)];
        if (found == 0) _refuse(recorded, fields);
        _note(found - 1);
        return _said(_stepAt(recorded, found - 1), book, tools);
    }

    function _stepTaken(uint256 step) internal override {
        Recorded storage recorded = _recorded();
        recorded.replayedSteps++;
        recorded.inferenceGas += recorded.gasOf[step];
        recorded.isReplayed[step] = true;
    }

    function _stepAt(Recorded storage recorded, uint256 step) private view returns (RecordedStep memory) {
        return abi.decode(recorded.steps[step], (RecordedStep));
    }

    function _book(RecordedStep memory step) private pure returns (AddressBook.Book memory) {
        return AddressBook.collect(step.basePrompt, step.prompt, step.toolResults);
    }

    function _key(Field[] memory fields) private pure returns (bytes32) {
        return keccak256(abi.encode(fields));
    }

    function _recorded() private view returns (Recorded storage recorded) {
        bytes32 slot = STORAGE;
        uint256 forgotten;
        assembly ("memory-safe") {
            forgotten := sload(slot)
        }
        slot = keccak256(abi.encode(slot, forgotten));
        assembly ("memory-safe") {
            recorded.slot := slot
        }
    }

    /// @dev What was said, with the addresses of here in place of the recorded ones.
    function _said(RecordedStep memory step, AddressBook.Book memory book, IERCAgentTool[] memory tools)
        private
        pure
        returns (AgentIterationResult memory result)
    {
        AddressBook.Book memory recorded = _book(step);
        string[] memory here = new string[](book.count);
        for (uint256 i = 0; i < book.count; i++) here[i] = AddressBook.checksummed(book.addresses[i]);
        if (step.isFinalAnswer) {
            result.isFinalAnswer = true;
            result.finalAnswer = recorded.substitute(step.answer, here);
            return result;
        }
        IERCAgentTool.ParamDescription[] memory parameters = step.tools[step.tool].parameters;
        for (uint256 i = 0; i < parameters.length; i++) {
            _move(parameters[i].paramType, step.values, i, recorded, book, here);
        }
        result.tool = tools[step.tool];
        result.toolInput = ToolArguments.input(parameters, step.values);
        result.agentReasoning = recorded.substituteInReasoning(step.reasoning, here);
    }

    function _move(
        IERCAgentTool.ParamType paramType,
        bytes[] memory values,
        uint256 i,
        AddressBook.Book memory recorded,
        AddressBook.Book memory book,
        string[] memory here
    ) private pure {
        if (paramType == IERCAgentTool.ParamType.STRING) {
            values[i] = abi.encode(recorded.substitute(abi.decode(values[i], (string)), here));
        } else if (paramType == IERCAgentTool.ParamType.STRING_ARRAY) {
            string[] memory texts = abi.decode(values[i], (string[]));
            for (uint256 j = 0; j < texts.length; j++) texts[j] = recorded.substitute(texts[j], here);
            values[i] = abi.encode(texts);
        } else if (paramType == IERCAgentTool.ParamType.ADDRESS) {
            values[i] = abi.encode(_moved(abi.decode(values[i], (address)), recorded, book));
        } else if (paramType == IERCAgentTool.ParamType.ADDRESS_ARRAY) {
            address[] memory addresses = abi.decode(values[i], (address[]));
            for (uint256 j = 0; j < addresses.length; j++) addresses[j] = _moved(addresses[j], recorded, book);
            values[i] = abi.encode(addresses);
        }
    }

    /// @dev A model can say no other address than one that the request names.
    function _moved(address value, AddressBook.Book memory recorded, AddressBook.Book memory book)
        private
        pure
        returns (address)
    {
        uint256 index = recorded.indexOf(value);
        return index < recorded.count ? book.addresses[index] : value;
    }

    // -- what is compared -- //

    /// @dev Everything that a model reads of a request, with addresses by their order.
    function _fields(RecordedStep memory step, AddressBook.Book memory book)
        private
        pure
        returns (Field[] memory fields)
    {
        string[] memory names = new string[](book.count);
        for (uint256 i = 0; i < book.count; i++) names[i] = string.concat("<address ", Bytes.decimal(i + 1), ">");
        uint256 stepCount = step.agentReasoning.length;
        fields = new Field[](5 + step.tools.length + 2 * stepCount);
        _set(fields, 0, "prompt", book.substitute(step.prompt, names));
        _set(fields, 1, "steps", Bytes.decimal(stepCount));
        _set(fields, 2, "basePrompt", book.substitute(step.basePrompt, names));
        _set(fields, 3, "modelId", step.modelId);
        _set(fields, 4, "tools", Bytes.decimal(step.tools.length));
        uint256 position = 5;
        for (uint256 i = 0; i < step.tools.length; i++) {
            _set(fields, position++, _indexed("tools", i), book.substitute(_shown(step.tools[i]), names));
        }
        for (uint256 i = 0; i < stepCount; i++) {
            string memory reasoning = book.substituteInReasoning(step.agentReasoning[i], names);
            _set(fields, position++, _indexed("agentReasoning", i), reasoning);
            _set(fields, position++, _indexed("toolResults", i), book.substitute(step.toolResults[i], names));
        }
    }

    function _set(Field[] memory fields, uint256 position, string memory name, string memory text) private pure {
        fields[position] = Field(name, text);
    }

    /// @dev Names the first difference from the recorded step that has most in common with a request.
    function _refuse(Recorded storage all, Field[] memory asked) private view {
        if (all.steps.length == 0) revert NothingRecorded();
        uint256 most;
        uint256 closest;
        Field[] memory recorded;
        for (uint256 i = 0; i < all.steps.length; i++) {
            RecordedStep memory step = _stepAt(all, i);
            Field[] memory fields = _fields(step, _book(step));
            uint256 same = 1;
            for (uint256 j = 0; j < fields.length && j < asked.length; j++) {
                // The number of steps decides which step of a run is meant.
                if (Bytes.equal(bytes(fields[j].text), bytes(asked[j].text))) same += j == 1 ? asked.length : 1;
            }
            // Of equals the first; where a run goes on for longer than any, its last step.
            bool isLonger = !Bytes.equal(bytes(fields[1].text), bytes(asked[1].text));
            if (same > most || (same == most && isLonger)) (most, closest, recorded) = (same, i, fields);
        }
        for (uint256 j = 0; j < recorded.length && j < asked.length; j++) {
            if (!Bytes.equal(bytes(recorded[j].text), bytes(asked[j].text))) {
                revert NotRecorded(closest, asked[j].name, recorded[j].text, asked[j].text);
            }
        }
    }

    function _described(Tool[] memory tools) private pure returns (RecordedTool[] memory described) {
        described = new RecordedTool[](tools.length);
        for (uint256 i = 0; i < tools.length; i++) {
            described[i] = RecordedTool(tools[i].name, tools[i].description, tools[i].parameters);
        }
    }

    /// @dev A tool with all that a model reads of it: `DeployTool: deploys (address asset: of the token)`.
    function _shown(RecordedTool memory tool) private pure returns (string memory text) {
        for (uint256 i = 0; i < tool.parameters.length; i++) {
            IERCAgentTool.ParamDescription memory parameter = tool.parameters[i];
            string memory typed = string.concat(ToolArguments.typeName(parameter.paramType), " ", parameter.name);
            text = string.concat(text, i == 0 ? "" : ", ", typed, ": ", parameter.description);
        }
        return string.concat(tool.name, ": ", tool.description, " (", text, ")");
    }

    function _saysTheSame(RecordedStep memory a, RecordedStep memory b) private pure returns (bool) {
        return Bytes.equal(
            abi.encode(a.isFinalAnswer, a.answer, a.tool, a.values, a.reasoning),
            abi.encode(b.isFinalAnswer, b.answer, b.tool, b.values, b.reasoning)
        );
    }

    function _indexed(string memory name, uint256 index) private pure returns (string memory) {
        return string.concat(name, "[", Bytes.decimal(index), "]");
    }
}
