// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AgentIterationResult, IERCAgentExecutor} from "../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {IModelOutput} from "../interfaces/IModelOutput.sol";
import {AbiString} from "../libraries/AbiString.sol";
import {RunOutcome} from "../libraries/RunOutcome.sol";
import {TransientValues} from "../libraries/TransientValues.sol";

/// @title A tool that asks a language model, which has no tools
/// @notice The model can be another than the agent's own, such as one with an adapter for this task. With labels, the
///   result is the label that the answer names first, and its value is kept for the runner as a numeric model's output
///   is; without labels it is the answer. Anybody may run it.
contract LanguageModelTool is IERCAgentTool, IModelOutput {
    /// @notice A word that an answer can have, in lower case, and what it stands for.
    struct Label {
        string word;
        int256 value;
    }

    /// @notice The input is not one parameter of type STRING.
    error UnexpectedInput(string reason);

    /// @notice The executor's address answered with nothing: there is no executor on this chain.
    error ExecutorMissing(address executor);

    /// @notice The answer names none of the labels.
    error UnexpectedAnswer(string answer);

    /// @inheritdoc IERCAgentTool
    string public name;

    /// @inheritdoc IERCAgentTool
    string public description;

    /// @notice Where the model runs; 0x19 on pyevm-agents chains.
    address public immutable executor;

    /// @notice The model's name or digest.
    string public modelId;

    /// @notice What the model is told before each text.
    string public basePrompt;

    /// @notice What every result begins with, so that no answer begins a result, such as "Sentiment: ".
    string public prefix;

    ParamDescription private parameter;
    Label[] private labels;

    /// @param parameterName name of the tool's only parameter, such as "post"
    /// @param parameterDescription what the agent's model reads of it
    constructor(
        address _executor,
        string memory _modelId,
        string memory _basePrompt,
        string memory _name,
        string memory _description,
        string memory parameterName,
        string memory parameterDescription,
        string memory _prefix,
        Label[] memory _labels
    ) {
        executor = _executor;
        modelId = _modelId;
        basePrompt = _basePrompt;
        name = _name;
        description = _description;
        parameter = ParamDescription(ParamType.STRING, parameterName, parameterDescription);
        prefix = _prefix;
        for (uint256 i = 0; i < _labels.length; i++) labels.push(_labels[i]);
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = parameter;
    }

    /// @inheritdoc IModelOutput
    function lastOutput(address runner) external view returns (int256[] memory values) {
        bool isKept;
        (isKept, values) = TransientValues.read(runner);
        if (!isKept) revert NoOutput(runner);
    }

    /// @notice Asks the model; answers for example "Sentiment: positive".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        bool isText = input.params.length == 1 && input.params[0].paramType == ParamType.STRING
            && AbiString.isAt(input.params[0].value, 0);
        if (!isText) revert UnexpectedInput("one STRING expected");
        string memory answer = _ask(abi.decode(input.params[0].value, (string)));
        if (labels.length != 0) answer = _choose(answer);
        return (-1, string.concat(prefix, answer));
    }

    function _ask(string memory text) private returns (string memory) {
        string[] memory none = new string[](0);
        bytes memory data = abi.encodeCall(
            IERCAgentExecutor.runNextIteration, (modelId, basePrompt, new IERCAgentTool[](0), none, none, text)
        );
        (bool success, bytes memory output) = executor.call(data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
        if (output.length == 0) revert ExecutorMissing(executor);
        return abi.decode(output, (AgentIterationResult)).finalAnswer;
    }

    /// @dev Returns the label that the answer names first, the first one of labels at one place; keeps its value. An answer
    ///   that is not done can only begin with a label, such as "Failed": "I can't say whether it is good" names none.
    function _choose(string memory answer) private returns (string memory) {
        bytes memory text = bytes(answer);
        uint256 places = RunOutcome.isDone(answer) ? text.length : 1;
        for (uint256 place = 0; place < places; place++) {
            for (uint256 i = 0; i < labels.length; i++) {
                if (!_isAt(text, place, bytes(labels[i].word))) continue;
                int256[] memory values = new int256[](1);
                values[0] = labels[i].value;
                TransientValues.keep(msg.sender, values);
                return labels[i].word;
            }
        }
        revert UnexpectedAnswer(answer);
    }

    /// @dev Tells whether a word stands there as a whole, in any case.
    function _isAt(bytes memory text, uint256 place, bytes memory word) private pure returns (bool) {
        uint256 end = place + word.length;
        if (word.length == 0 || end > text.length) return false;
        for (uint256 i = 0; i < word.length; i++) {
            if (_lower(text[place + i]) != word[i]) return false;
        }
        return (place == 0 || !_isLetter(text[place - 1])) && (end == text.length || !_isLetter(text[end]));
    }

    function _isLetter(bytes1 char) private pure returns (bool) {
        bytes1 lower = _lower(char);
        return lower >= "a" && lower <= "z";
    }

    function _lower(bytes1 char) private pure returns (bytes1) {
        return char >= "A" && char <= "Z" ? char | 0x20 : char;
    }
}
