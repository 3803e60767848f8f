// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {IModelOutput} from "../interfaces/IModelOutput.sol";
import {INumericModels} from "../interfaces/INumericModels.sol";
import {FixedPointText} from "../libraries/FixedPointText.sol";
import {TransientValues} from "../libraries/TransientValues.sol";

/// @title What tools over a numeric model share: the pinned model, its evaluation, and the sentence for its output
/// @notice The sentence is `<title>: <label> <name> <value><unit> (<word>), …`, with what the constructor gave, such as
///   "Sentiment: 0.62 (positive)". Anybody may run such a tool: it changes nothing but what it keeps for its runner until
///   the end of the transaction.
abstract contract NumericTool is IERCAgentTool, IModelOutput {
    /// @notice The model that the tool was made for.
    /// @param models where models are evaluated; 0x1a on pyevm-agents chains
    /// @param modelId its name, or its digest
    /// @param digest SHA-256 of its file
    struct Model {
        INumericModels models;
        string modelId;
        bytes32 digest;
    }

    /// @notice How a row of output is shown.
    /// @param title the sentence's first word, such as "Sentiment"
    /// @param labels one for each row, such as "ETH"; empty if there is one row that needs none
    /// @param classes if there are some, a class for each value: the row's word is that of its largest value, the first
    ///   one of equal values
    /// @param values the values that the sentence has, in order
    struct Sentence {
        string title;
        string[] labels;
        string[] classes;
        ShownValue[] values;
    }

    /// @notice How one value is shown.
    /// @param index its place in the model's output
    /// @param name what stands before it; may be empty
    /// @param unit what stands behind it, such as " %"; may be empty
    /// @param shift decimals fewer than the model's: 2 shows a fraction in percent
    /// @param decimals how many decimals are shown
    /// @param wordIndex the place of the value that the bands are for; may be another, such as a class
    /// @param bands words for that value, by ascending least; may be empty
    struct ShownValue {
        uint256 index;
        string name;
        string unit;
        uint8 shift;
        uint8 decimals;
        uint256 wordIndex;
        Band[] bands;
    }

    /// @notice The word of values from `least` on, in the model's decimals.
    struct Band {
        int256 least;
        string word;
    }

    /// @notice The model's address answered with nothing: this chain has no numeric models.
    error ModelsMissing(address models);

    /// @notice The model's ID names another file than the one that the tool was made for.
    error ModelChanged(bytes32 expected, bytes32 found);

    /// @notice The model takes another number of values than the tool gives.
    error WrongInputLength(uint256 given, uint256 wanted);

    /// @notice The sentence doesn't fit the model's output.
    error WrongSentence(string reason);

    /// @notice The input isn't what the input description asks for.
    error UnexpectedInput(string reason);

    /// @inheritdoc IERCAgentTool
    string public name;

    /// @inheritdoc IERCAgentTool
    string public description;

    /// @notice The pinned model.
    Model public model;

    /// @notice Decimals of each value of the model's input.
    uint8[] public inputDecimals;

    /// @notice Decimals of each value of the model's output.
    uint8[] public outputDecimals;

    Sentence private sentence;

    constructor(string memory _name, string memory _description, Model memory _model, Sentence memory _sentence) {
        name = _name;
        description = _description;
        model = _model;
        (inputDecimals, outputDecimals,) = _describe(_model);
        _requireFit(_sentence, outputDecimals);
        sentence.title = _sentence.title;
        sentence.labels = _sentence.labels;
        sentence.classes = _sentence.classes;
        for (uint256 i = 0; i < _sentence.values.length; i++) _pushValue(_sentence.values[i]);
    }

    /// @inheritdoc IModelOutput
    function lastOutput(address runner) external view returns (int256[] memory values) {
        bool isKept;
        (isKept, values) = TransientValues.read(runner);
        if (!isKept) revert NoOutput(runner);
    }

    /// @notice Returns what one evaluation of the model costs, without the call itself.
    function modelGas() external view returns (uint256 gas) {
        (,, gas) = _describe(model);
    }

    /// @dev Evaluates the model for each row, keeps the output for the runner, and returns the sentence.
    function _evaluate(int256[][] memory rows) internal returns (string memory text) {
        Model memory pinned = model;
        _describe(pinned);
        Sentence memory shape = sentence;
        uint8[] memory decimals = outputDecimals;
        if (rows.length > 1 && rows.length != shape.labels.length) revert WrongSentence("one label for each row");

        int256[] memory kept = new int256[](rows.length * decimals.length);
        text = string.concat(shape.title, ": ");
        for (uint256 i = 0; i < rows.length; i++) {
            bytes memory data = abi.encodeCall(INumericModels.runModel, (pinned.modelId, rows[i]));
            int256[] memory output = abi.decode(_read(pinned.models, data), (int256[]));
            if (output.length != decimals.length) revert WrongSentence("another number of values");
            for (uint256 k = 0; k < output.length; k++) kept[i * output.length + k] = output[k];
            string memory label = shape.labels.length == 0 ? "" : string.concat(shape.labels[i], " ");
            text = string.concat(text, i == 0 ? "" : ", ", label, _rowText(shape, output, decimals));
        }
        TransientValues.keep(msg.sender, kept);
    }

    /// @dev Returns the model's decimals and gas, and insists on the pinned digest.
    function _describe(Model memory pinned)
        private
        view
        returns (uint8[] memory inputs, uint8[] memory outputs, uint256 gas)
    {
        bytes32 digest;
        bytes memory output = _read(pinned.models, abi.encodeCall(INumericModels.describeModel, (pinned.modelId)));
        (digest, inputs, outputs, gas) = abi.decode(output, (bytes32, uint8[], uint8[], uint256));
        if (digest != pinned.digest) revert ModelChanged(pinned.digest, digest);
    }

    /// @dev A low-level call, so that a chain without models gives a reason; the model's own errors are passed on.
    function _read(INumericModels models, bytes memory data) private view returns (bytes memory) {
        (bool success, bytes memory output) = address(models).staticcall(data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
        if (output.length == 0) revert ModelsMissing(address(models));
        return output;
    }

    function _rowText(Sentence memory shape, int256[] memory output, uint8[] memory decimals)
        private
        pure
        returns (string memory text)
    {
        for (uint256 i = 0; i < shape.values.length; i++) {
            ShownValue memory shown = shape.values[i];
            int256 value = output[shown.index];
            string memory number =
                FixedPointText.format(value, decimals[shown.index] - shown.shift, shown.decimals);
            string memory before = bytes(shown.name).length == 0 ? "" : string.concat(shown.name, " ");
            string memory word = _wordOf(shown.bands, output[shown.wordIndex]);
            if (bytes(word).length != 0) word = string.concat(" (", word, ")");
            text = string.concat(text, i == 0 ? "" : ", ", before, number, shown.unit, word);
        }
        if (shape.classes.length != 0) {
            string memory class = shape.classes[_largest(output)];
            text = shape.values.length == 0 ? class : string.concat(text, " (", class, ")");
        }
    }

    function _wordOf(Band[] memory bands, int256 value) private pure returns (string memory word) {
        for (uint256 i = 0; i < bands.length && bands[i].least <= value; i++) word = bands[i].word;
    }

    function _largest(int256[] memory values) private pure returns (uint256 place) {
        for (uint256 i = 1; i < values.length; i++) if (values[i] > values[place]) place = i;
    }

    function _requireFit(Sentence memory shape, uint8[] memory decimals) private pure {
        if (shape.classes.length != 0 && shape.classes.length != decimals.length) {
            revert WrongSentence("one class for each value");
        }
        for (uint256 i = 0; i < shape.values.length; i++) {
            ShownValue memory shown = shape.values[i];
            bool isThere = shown.index < decimals.length && shown.wordIndex < decimals.length;
            if (!isThere) revert WrongSentence("no such value");
            if (decimals[shown.index] > FixedPointText.MAX_DECIMALS) revert WrongSentence("too many decimals");
            if (uint256(shown.shift) + shown.decimals > decimals[shown.index]) {
                revert WrongSentence("more decimals than the value has");
            }
        }
    }

    function _pushValue(ShownValue memory shown) private {
        ShownValue storage kept = sentence.values.push();
        kept.index = shown.index;
        kept.name = shown.name;
        kept.unit = shown.unit;
        kept.shift = shown.shift;
        kept.decimals = shown.decimals;
        kept.wordIndex = shown.wordIndex;
        for (uint256 i = 0; i < shown.bands.length; i++) {
            if (i > 0 && shown.bands[i].least <= shown.bands[i - 1].least) revert WrongSentence("bands must ascend");
            kept.bands.push(shown.bands[i]);
        }
    }
}
