// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IAgentExecutorErrors} from "../../interfaces/IAgentExecutorErrors.sol";
import {IERCAgentExecutor} from "../../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {AbiString} from "../../libraries/AbiString.sol";
import {Bytes} from "./Bytes.sol";
import {ObservedStep} from "./ObservedStep.sol";
import {ToolName} from "./ToolName.sol";

/// @title What an executor made of Solidity has in common with the precompile, whatever it then answers
/// @notice It reads histories and tools as the precompile does and refuses with the same typed errors; the words of
///   their reasons may be others. Unlike the precompile it has no model: it takes any model ID, counts no tokens,
///   doesn't check UTF-8, and costs the gas of an EVM.
/// @dev No constructor and no immutables: its runtime code is put at an address. Its storage is at a place of its own.
abstract contract EtchedExecutor is IERCAgentExecutor, IAgentExecutorErrors {
    /// @notice Less gas is left than it takes to note that a step was taken.
    error TooLittleGas(uint256 gasLeft);

    /// @notice Somebody else than the executor itself tried to note a step.
    error NotTheExecutor(address caller);

    uint256 private constant MAX_TOOLS = 64;
    uint256 private constant MAX_PARAMETERS = 32;
    uint256 private constant MAX_METADATA_BYTES = 16_384;
    uint256 private constant MAX_REASON_BYTES = 1_024;
    uint256 private constant METADATA_READ_GAS = 2_000_000;
    string private constant LOOKS_LIKE_ANOTHER = "a name must look like no other";

    /// @dev Gas of three writes to storage, the most that a note takes, and what is around them.
    uint256 private constant NOTE_GAS = 100_000;

    struct Tool {
        IERCAgentTool source;
        string name;
        string description;
        IERCAgentTool.ParamDescription[] parameters;
    }

    /// @notice Refuses every other function, as the precompile does.
    fallback() external {
        revert UnknownSelector(msg.sig);
    }

    /// @dev Reverts without data where the bytes are no InputDescription: `_readTool` calls it to find out.
    function decodeInputDescription(bytes calldata data)
        external
        pure
        returns (IERCAgentTool.InputDescription memory)
    {
        return abi.decode(data, (IERCAgentTool.InputDescription));
    }

    /// @dev Notes that a step was taken. Fails in a static call: `_note` calls it to find out.
    function noteStep(uint256 step) external {
        if (msg.sender != address(this)) revert NotTheExecutor(msg.sender);
        _stepTaken(step);
    }

    function _stepTaken(uint256 step) internal virtual;

    /// @notice Notes that a step was taken, unless this is a static call, in which nothing can be noted.
    function _note(uint256 step) internal returns (bool isNoted) {
        if (gasleft() < 2 * NOTE_GAS) revert TooLittleGas(gasleft());
        (isNoted,) = address(this).call{gas: NOTE_GAS}(abi.encodeCall(this.noteStep, (step)));
    }

    /// @notice Returns the number of steps that a run has taken.
    function _countSteps(string[] memory agentReasoning, string[] memory toolResults)
        internal
        pure
        returns (uint256 steps)
    {
        steps = agentReasoning.length;
        if (steps != toolResults.length) revert HistoryLengthMismatch(steps, toolResults.length);
        while (steps > 0 && bytes(agentReasoning[steps - 1]).length + bytes(toolResults[steps - 1]).length == 0) {
            steps--;
        }
        for (uint256 i = 0; i < steps; i++) {
            if (bytes(agentReasoning[i]).length == 0) revert MalformedHistory(i, "agentReasoning is empty");
            if (!_isReasoning(bytes(agentReasoning[i]))) {
                revert MalformedHistory(i, "agentReasoning is not the lines Thought, Action and Action Input");
            }
        }
    }

    /// @notice Returns the history of a version-1 run as version 2 has it.
    function _splitSteps(string[] memory entries)
        internal
        pure
        returns (string[] memory agentReasoning, string[] memory toolResults)
    {
        (agentReasoning, toolResults) = (new string[](entries.length), new string[](entries.length));
        for (uint256 i = 0; i < entries.length; i++) {
            if (bytes(entries[i]).length == 0) continue;
            bool isStep;
            (isStep, agentReasoning[i], toolResults[i]) = ObservedStep.split(bytes(entries[i]));
            if (!isStep) revert MalformedHistory(i, "agentReasoning has no escaped Observation");
        }
    }

    /// @notice Reads the metadata of every tool.
    function _readTools(IERCAgentTool[] memory addresses) internal view returns (Tool[] memory tools) {
        if (addresses.length > MAX_TOOLS) revert TooManyTools(addresses.length, MAX_TOOLS);
        tools = new Tool[](addresses.length);
        bytes32[] memory looks = new bytes32[](addresses.length);
        for (uint256 i = 0; i < addresses.length; i++) {
            tools[i] = _readTool(addresses[i]);
            uint256 twin = _findLook(looks, i, tools[i].name);
            if (twin == i) continue;
            if (Bytes.equal(bytes(tools[twin].name), bytes(tools[i].name))) revert DuplicateToolName(tools[i].name);
            _refuse(addresses[i], IERCAgentTool.name.selector, LOOKS_LIKE_ANOTHER);
        }
    }

    function _readTool(IERCAgentTool source) private view returns (Tool memory tool) {
        tool.source = source;
        tool.name = _readText(source, IERCAgentTool.name.selector);
        _checkName(source, IERCAgentTool.name.selector, tool.name);
        tool.description = _readText(source, IERCAgentTool.description.selector);
        bytes4 selector = IERCAgentTool.inputDescription.selector;
        bytes memory told = _read(source, selector);
        try this.decodeInputDescription(told) returns (IERCAgentTool.InputDescription memory input) {
            tool.parameters = input.paramDescriptions;
        } catch {
            _refuse(source, selector, "not an InputDescription");
        }
        if (tool.parameters.length > MAX_PARAMETERS) {
            _refuse(source, selector, "more than 32 parameters");
        }
        bytes32[] memory looks = new bytes32[](tool.parameters.length);
        for (uint256 i = 0; i < looks.length; i++) {
            string memory name = tool.parameters[i].name;
            _checkName(source, selector, name);
            uint256 twin = _findLook(looks, i, name);
            if (twin == i) continue;
            string memory other = tool.parameters[twin].name;
            if (Bytes.equal(bytes(other), bytes(name))) revert DuplicateParameterName(address(source), name);
            _refuse(source, selector, LOOKS_LIKE_ANOTHER);
        }
    }

    function _checkName(IERCAgentTool source, bytes4 selector, string memory name) private pure {
        string memory reason = ToolName.reason(bytes(name));
        if (bytes(reason).length != 0) _refuse(source, selector, reason);
    }

    /// @dev Notes how a name looks, and returns the position of the first name that looks like it: its own if none does.
    function _findLook(bytes32[] memory looks, uint256 position, string memory name)
        private
        pure
        returns (uint256 first)
    {
        looks[position] = ToolName.look(bytes(name));
        while (looks[first] != looks[position]) first++;
    }

    function _refuse(IERCAgentTool source, bytes4 selector, string memory reason) private pure {
        revert MalformedToolMetadata(address(source), selector, reason);
    }

    function _readText(IERCAgentTool source, bytes4 selector) private view returns (string memory) {
        bytes memory told = _read(source, selector);
        if (!AbiString.isAt(told, 0)) _refuse(source, selector, "not a string");
        return abi.decode(told, (string));
    }

    function _read(IERCAgentTool source, bytes4 selector) private view returns (bytes memory told) {
        if (address(source).code.length == 0) revert ToolWithoutCode(address(source));
        bool success;
        (success, told) = address(source).staticcall{gas: METADATA_READ_GAS}(abi.encodeWithSelector(selector));
        if (!success) {
            if (told.length > MAX_REASON_BYTES) told = Bytes.slice(told, 0, MAX_REASON_BYTES);
            revert ToolMetadataFailed(address(source), selector, told);
        }
        if (told.length > MAX_METADATA_BYTES) {
            revert ToolMetadataTooLarge(address(source), selector, told.length, MAX_METADATA_BYTES);
        }
    }

    /// @dev A thought, an action and an action input, a line each.
    function _isReasoning(bytes memory text) private pure returns (bool) {
        uint256 first = _endOfLine(text, 0);
        uint256 second = _endOfLine(text, first + 1);
        return first < text.length && second < text.length && _endOfLine(text, second + 1) == text.length
            && _startsWith(text, 0, first, "Thought: ") && _startsWith(text, first + 1, second, "Action: ")
            && _startsWith(text, second + 1, text.length, "Action Input: {") && text[text.length - 1] == "}";
    }

    function _endOfLine(bytes memory text, uint256 position) private pure returns (uint256) {
        while (position < text.length && text[position] != "\n") position++;
        return position;
    }

    function _startsWith(bytes memory text, uint256 start, uint256 end, bytes memory beginning)
        private
        pure
        returns (bool)
    {
        uint256 behind = start + beginning.length;
        return behind < end && Bytes.equal(Bytes.slice(text, start, behind), beginning);
    }
}
