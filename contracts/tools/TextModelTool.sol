// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AbiString} from "../libraries/AbiString.sol";
import {TextFeatures} from "../libraries/TextFeatures.sol";
import {NumericTool} from "./NumericTool.sol";

/// @title A tool that gives a text to a numeric model
/// @notice The model's input is `TextFeatures.features` of the text.
contract TextModelTool is NumericTool {
    /// @notice A model of words takes at least one bucket, and numbers up to the largest int64.
    error WrongBuckets(uint256 buckets);

    /// @notice How many words the model takes.
    uint256 public immutable words;

    /// @notice The largest number of a word.
    uint256 public immutable buckets;

    ParamDescription private parameter;

    /// @param parameterName name of the tool's only parameter, such as "post"
    /// @param parameterDescription what the model reads of it
    /// @param _buckets the largest number of a word; the number of words is the length of the model's input
    constructor(
        string memory _name,
        string memory _description,
        string memory parameterName,
        string memory parameterDescription,
        Model memory _model,
        uint256 _buckets,
        Sentence memory _sentence
    ) NumericTool(_name, _description, _model, _sentence) {
        if (_buckets == 0 || _buckets > uint64(type(int64).max)) revert WrongBuckets(_buckets);
        words = inputDecimals.length;
        buckets = _buckets;
        parameter = ParamDescription(ParamType.STRING, parameterName, parameterDescription);
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = parameter;
    }

    /// @notice Answers for example "Sentiment: 0.62 (positive)".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        bool isText = input.params.length == 1 && input.params[0].paramType == ParamType.STRING
            && AbiString.isAt(input.params[0].value, 0);
        if (!isText) revert UnexpectedInput("one STRING expected");
        int256[][] memory rows = new int256[][](1);
        rows[0] = TextFeatures.features(abi.decode(input.params[0].value, (string)), words, buckets);
        return (-1, _evaluate(rows));
    }
}
