// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {SignedMath} from "@openzeppelin/contracts/utils/math/SignedMath.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {AgentIterationResult, IERCAgentExecutor} from "../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {RunOutcome} from "../libraries/RunOutcome.sol";
import {ISomniaLanguageModel, OnchainTool} from "./ISomniaLanguageModel.sol";
import {ToolSignature} from "./ToolSignature.sol";
import {YieldedTool} from "./YieldedTool.sol";

/// @title Turns Somnia's payloads into steps of the executor, and its answers into Somnia's results
/// @notice How is said at SomniaAdapter. It holds nothing and may be called by everybody.
contract SomniaTranslator {
    /// @notice The payload is not calldata of one of ISomniaLanguageModel's functions.
    error MalformedPayload(bytes4 selector);

    /// @notice There are not as many messages as roles, or none.
    error WrongMessages(uint256 roles, uint256 messages);

    /// @notice Somnia has no such role.
    error UnknownRole(string role);

    /// @notice The range is empty.
    error EmptyRange(int256 minValue, int256 maxValue);

    /// @notice The executor has no network.
    error McpServersUnsupported();

    /// @notice The answer is none of the allowed values, no number, or names another tool.
    error UnusableAnswer(string text);

    /// @notice What tools are clones of.
    YieldedTool public immutable toolCode = new YieldedTool();

    /// @notice Returns which function a tool stands for.
    mapping(address tool => bytes4) public selectorOf;

    /// @notice Deploys a payload's tools, where they are not there yet.
    /// @return arguments calldata for the executor
    /// @return tools that the model can choose
    function prepare(string calldata modelId, bytes calldata payload)
        external
        returns (bytes memory arguments, IERCAgentTool[] memory tools)
    {
        bytes4 method = bytes4(payload);
        if (method == ISomniaLanguageModel.inferString.selector) return _prepareString(modelId, payload[4:]);
        if (method == ISomniaLanguageModel.inferNumber.selector) return _prepareNumber(modelId, payload[4:]);
        if (method == ISomniaLanguageModel.inferChat.selector) return _prepareChat(modelId, payload[4:]);
        if (method == ISomniaLanguageModel.inferToolsChat.selector) return _prepareToolsChat(modelId, payload[4:]);
        revert MalformedPayload(method);
    }

    /// @notice Returns what a payload's method returns for an answer of the executor.
    /// @param tools those that `prepare` returned
    function resultOf(bytes calldata payload, address[] calldata tools, bytes calldata output)
        external
        view
        returns (bytes memory)
    {
        AgentIterationResult memory answer = abi.decode(output, (AgentIterationResult));
        if (!answer.isFinalAnswer && !_contains(tools, address(answer.tool))) revert UnusableAnswer("");
        bytes4 method = bytes4(payload[:4]);
        if (method == ISomniaLanguageModel.inferString.selector) {
            (,,, string[] memory allowedValues) = abi.decode(payload[4:], (string, string, bool, string[]));
            return abi.encode(_allowed(answer, allowedValues));
        }
        if (method == ISomniaLanguageModel.inferNumber.selector) {
            (,, int256 low, int256 high,) = abi.decode(payload[4:], (string, string, int256, int256, bool));
            return abi.encode(SignedMath.min(SignedMath.max(_number(answer), low), high));
        }
        if (method == ISomniaLanguageModel.inferChat.selector) return abi.encode(answer.finalAnswer);
        (string[] memory roles, string[] memory messages) = abi.decode(payload[4:], (string[], string[]));
        return _chatResult(answer, roles, messages);
    }

    // ---- Payloads

    function _prepareString(string calldata modelId, bytes calldata data)
        private
        pure
        returns (bytes memory arguments, IERCAgentTool[] memory tools)
    {
        (string memory prompt, string memory system,, string[] memory allowedValues) =
            abi.decode(data, (string, string, bool, string[]));
        if (allowedValues.length > 0) prompt = string.concat(prompt, "\nAnswer with ", _oneOf(allowedValues));
        arguments = _step(modelId, system, tools, prompt);
    }

    function _prepareNumber(string calldata modelId, bytes calldata data)
        private
        pure
        returns (bytes memory arguments, IERCAgentTool[] memory tools)
    {
        (string memory prompt, string memory system, int256 low, int256 high,) =
            abi.decode(data, (string, string, int256, int256, bool));
        if (low > high) revert EmptyRange(low, high);
        string memory range = string.concat(Strings.toStringSigned(low), " to ", Strings.toStringSigned(high));
        prompt = string.concat(prompt, "\nAnswer with a whole number from ", range);
        arguments = _step(modelId, system, tools, prompt);
    }

    function _prepareChat(string calldata modelId, bytes calldata data)
        private
        pure
        returns (bytes memory arguments, IERCAgentTool[] memory tools)
    {
        (string[] memory roles, string[] memory messages,) = abi.decode(data, (string[], string[], bool));
        arguments = _conversation(modelId, roles, messages, tools);
    }

    function _prepareToolsChat(string calldata modelId, bytes calldata data)
        private
        returns (bytes memory arguments, IERCAgentTool[] memory tools)
    {
        (string[] memory roles, string[] memory messages, string[] memory servers, OnchainTool[] memory stated,,) =
            abi.decode(data, (string[], string[], string[], OnchainTool[], uint256, bool));
        if (servers.length > 0) revert McpServersUnsupported();
        tools = new IERCAgentTool[](stated.length);
        for (uint256 i = 0; i < stated.length; i++) {
            tools[i] = _yieldedTool(stated[i]);
        }
        arguments = _conversation(modelId, roles, messages, tools);
    }

    function _yieldedTool(OnchainTool memory stated) private returns (IERCAgentTool) {
        (bytes4 selector, string memory name, IERCAgentTool.ParamDescription[] memory params) =
            ToolSignature.read(stated.signature);
        return _deploy(name, stated.description, params, selector);
    }

    /// @dev Equal tools are one contract.
    function _deploy(
        string memory name,
        string memory description,
        IERCAgentTool.ParamDescription[] memory params,
        bytes4 selector
    ) private returns (IERCAgentTool) {
        bytes memory args = abi.encode(name, description, IERCAgentTool.InputDescription(params));
        bytes32 salt = bytes32(selector);
        address tool = Clones.predictDeterministicAddressWithImmutableArgs(address(toolCode), args, salt);
        if (tool.code.length == 0) {
            Clones.cloneDeterministicWithImmutableArgs(address(toolCode), args, salt);
            selectorOf[tool] = selector;
        }
        return IERCAgentTool(tool);
    }

    function _oneOf(string[] memory values) private pure returns (string memory text) {
        text = string.concat("one of: ", values[0]);
        for (uint256 i = 1; i < values.length; i++) {
            text = string.concat(text, ", ", values[i]);
        }
    }

    function _requireMessages(string[] memory roles, string[] memory messages) private pure {
        if (roles.length != messages.length || roles.length == 0) revert WrongMessages(roles.length, messages.length);
        for (uint256 i = 0; i < roles.length; i++) {
            bool isKnown = _is(roles[i], "system") || _is(roles[i], "user") || _is(roles[i], "assistant")
                || _is(roles[i], "tool");
            if (!isKnown) revert UnknownRole(roles[i]);
        }
    }

    /// @dev An assistant's message that begins with `Thought: `, with a tool's after it, is a step of the run; system messages are the base prompt; the
    ///   others are the prompt.
    function _conversation(
        string calldata modelId,
        string[] memory roles,
        string[] memory messages,
        IERCAgentTool[] memory tools
    ) private pure returns (bytes memory) {
        _requireMessages(roles, messages);
        uint256 steps;
        uint256 spoken;
        for (uint256 i = 0; i < roles.length; i++) {
            if (_isStep(roles, messages, i)) steps++;
            else if (!_is(roles[i], "system") && !_isResult(roles, messages, i)) spoken++;
        }
        string[] memory reasoning = new string[](steps);
        string[] memory results = new string[](steps);
        string memory system;
        string memory prompt;
        steps = 0;
        for (uint256 i = 0; i < roles.length; i++) {
            if (_isStep(roles, messages, i)) {
                reasoning[steps] = messages[i];
                results[steps++] = messages[i + 1];
            } else if (_is(roles[i], "system")) {
                system = string.concat(system, bytes(system).length > 0 ? "\n" : "", messages[i]);
            } else if (!_isResult(roles, messages, i)) {
                string memory line = spoken == 1 ? messages[i] : string.concat(roles[i], ": ", messages[i]);
                prompt = string.concat(prompt, bytes(prompt).length > 0 ? "\n" : "", line);
            }
        }
        return abi.encodeCall(
            IERCAgentExecutor.runNextIteration, (modelId, system, tools, reasoning, results, prompt)
        );
    }

    function _isStep(string[] memory roles, string[] memory messages, uint256 i) private pure returns (bool) {
        bool isThought = bytes9(bytes(messages[i])) == "Thought: ";
        return isThought && _is(roles[i], "assistant") && i + 1 < roles.length && _is(roles[i + 1], "tool");
    }

    function _isResult(string[] memory roles, string[] memory messages, uint256 i) private pure returns (bool) {
        return i > 0 && _isStep(roles, messages, i - 1);
    }

    function _step(
        string calldata modelId,
        string memory basePrompt,
        IERCAgentTool[] memory tools,
        string memory prompt
    ) private pure returns (bytes memory) {
        string[] memory none = new string[](0);
        return abi.encodeCall(IERCAgentExecutor.runNextIteration, (modelId, basePrompt, tools, none, none, prompt));
    }

    // ---- Answers

    function _allowed(AgentIterationResult memory answer, string[] memory values)
        private
        pure
        returns (string memory text)
    {
        text = answer.finalAnswer;
        if (values.length == 0) return text;
        for (uint256 i = 0; i < values.length; i++) {
            if (_is(text, values[i])) return text;
        }
        revert UnusableAnswer(text);
    }

    function _number(AgentIterationResult memory answer) private pure returns (int256 number) {
        if (!RunOutcome.isDone(answer.finalAnswer)) revert UnusableAnswer(answer.finalAnswer);
        bytes memory text = bytes(answer.finalAnswer);
        uint256 start;
        while (start < text.length && !_isDigit(text[start])) start++;
        uint256 end = start;
        while (end < text.length && _isDigit(text[end])) end++;
        if (start > 0 && start < end && text[start - 1] == "-") start--;
        bool isNumber;
        (isNumber, number) = Strings.tryParseInt(answer.finalAnswer, start, end);
        if (!isNumber || start == end) revert UnusableAnswer(answer.finalAnswer);
    }

    function _isDigit(bytes1 character) private pure returns (bool) {
        return character >= "0" && character <= "9";
    }

    function _chatResult(AgentIterationResult memory answer, string[] memory roles, string[] memory messages)
        private
        view
        returns (bytes memory)
    {
        string[] memory newRoles = _append(roles, "assistant");
        if (answer.isFinalAnswer) {
            string memory text = answer.finalAnswer;
            return abi.encode("stop", text, newRoles, _append(messages, text), new string[](0), new bytes[](0));
        }
        uint256 steps = 1;
        for (uint256 i = 0; i < roles.length; i++) {
            if (_isStep(roles, messages, i)) steps++;
        }
        string[] memory ids = new string[](1);
        ids[0] = string.concat("call_", Strings.toString(steps));
        bytes[] memory calls = new bytes[](1);
        calls[0] = bytes.concat(selectorOf[address(answer.tool)], answer.toolInput.abiEncodedParams);
        return abi.encode("tool_calls", "", newRoles, _append(messages, answer.agentReasoning), ids, calls);
    }

    function _append(string[] memory list, string memory last) private pure returns (string[] memory longer) {
        longer = new string[](list.length + 1);
        for (uint256 i = 0; i < list.length; i++) {
            longer[i] = list[i];
        }
        longer[list.length] = last;
    }

    function _contains(address[] calldata list, address one) private pure returns (bool) {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == one) return true;
        }
        return false;
    }

    function _is(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }
}
