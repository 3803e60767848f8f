// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {IModelInputs} from "../interfaces/IModelInputs.sol";
import {AbiString} from "../libraries/AbiString.sol";
import {FixedPointText} from "../libraries/FixedPointText.sol";
import {NumericTool} from "./NumericTool.sol";

/// @title A tool that gives numbers to a numeric model
/// @notice Each number of the model's input is fixed, a parameter that the agent's model gives, or read from a contract. A
///   contract can give several rows: the model is evaluated for each, and the parameters are the same in all of them.
contract ModelTool is NumericTool {
    /// @notice Where numbers of the input come from.
    enum Source {
        FIXED,
        PARAMETER,
        CONTRACT
    }

    /// @notice One number of the input, or several.
    /// @param source where they come from
    /// @param count how many numbers; a parameter is one
    /// @param paramType of a parameter: INT or UINT for whole numbers, STRING for decimals such as "1.25"
    /// @param name of a parameter; also what a refusal names
    /// @param description of a parameter; its range is added
    /// @param least the least number, in the model's decimals
    /// @param most the largest number, in the model's decimals
    /// @param fixedValue in the model's decimals, between least and most
    struct Field {
        Source source;
        uint256 count;
        ParamType paramType;
        string name;
        string description;
        int256 least;
        int256 most;
        int256 fixedValue;
    }

    /// @notice A field can't be served as it is described.
    error WrongField(string name, string reason);

    /// @notice The number is out of the field's range. Numbers are in the model's decimals.
    error ValueOutOfRange(string name, int256 value, int256 least, int256 most);

    /// @notice The contract gave a number of values that makes no whole rows.
    error WrongSourceLength(uint256 given, uint256 perRow);

    /// @notice Gives the numbers of fields from a contract; the zero address if there are none.
    IModelInputs public immutable inputs;

    Field[] private fields;
    uint256 private immutable perRow;

    /// @param _fields the model's input in order
    constructor(
        string memory _name,
        string memory _description,
        Model memory _model,
        Field[] memory _fields,
        IModelInputs _inputs,
        Sentence memory _sentence
    ) NumericTool(_name, _description, _model, _sentence) {
        uint256 total;
        uint256 fromContract;
        for (uint256 i = 0; i < _fields.length; i++) {
            Field memory field = _fields[i];
            uint256 rest = inputDecimals.length - total;
            if (field.count == 0 || field.count > rest) revert WrongInputLength(total + field.count, total + rest);
            _requireServed(field, total);
            fields.push(field);
            total += field.count;
            if (field.source == Source.CONTRACT) fromContract += field.count;
        }
        if (total != inputDecimals.length) revert WrongInputLength(total, inputDecimals.length);
        if ((fromContract == 0) != (address(_inputs) == address(0))) revert WrongField("", "inputs without a use");
        perRow = fromContract;
        inputs = _inputs;
    }

    /// @notice Returns the fields of the model's input, in order.
    function getFields() external view returns (Field[] memory) {
        return fields;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (InputDescription memory input) {
        uint256 count;
        for (uint256 i = 0; i < fields.length; i++) if (fields[i].source == Source.PARAMETER) count++;
        input.paramDescriptions = new ParamDescription[](count);
        uint256 place;
        uint256 next;
        for (uint256 i = 0; i < fields.length; i++) {
            Field memory field = fields[i];
            if (field.source == Source.PARAMETER) {
                string memory text = string.concat(field.description, _rangeOf(field, inputDecimals[place]));
                input.paramDescriptions[next++] = ParamDescription(field.paramType, field.name, text);
            }
            place += field.count;
        }
    }

    /// @notice Evaluates the model; answers for example "Forecast: ETH 0.84 % (up), BTC -0.10 % (flat)".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        int256[] memory found;
        uint256 count = 1;
        if (perRow != 0) {
            found = inputs.modelInputs(msg.sender);
            count = found.length / perRow;
            if (count == 0 || found.length != count * perRow) revert WrongSourceLength(found.length, perRow);
        }
        int256[][] memory rows = new int256[][](count);
        for (uint256 i = 0; i < count; i++) rows[i] = _buildRow(input, found, i * perRow);
        return (-1, _evaluate(rows));
    }

    function _buildRow(Input memory input, int256[] memory found, uint256 next)
        private
        view
        returns (int256[] memory row)
    {
        row = new int256[](inputDecimals.length);
        uint256 place;
        uint256 param;
        for (uint256 i = 0; i < fields.length; i++) {
            Field memory field = fields[i];
            for (uint256 k = 0; k < field.count; k++) {
                int256 value = field.fixedValue;
                if (field.source == Source.CONTRACT) value = found[next++];
                if (field.source == Source.PARAMETER) value = _valueOf(input, param++, field, inputDecimals[place]);
                if (value < field.least || value > field.most) {
                    revert ValueOutOfRange(field.name, value, field.least, field.most);
                }
                row[place++] = value;
            }
        }
        if (input.params.length != param) revert UnexpectedInput("another number of parameters expected");
    }

    /// @dev Returns a parameter in the model's decimals.
    function _valueOf(Input memory input, uint256 index, Field memory field, uint8 decimals)
        private
        pure
        returns (int256)
    {
        if (index >= input.params.length) revert UnexpectedInput("another number of parameters expected");
        ParamValue memory param = input.params[index];
        if (param.paramType != field.paramType) revert UnexpectedInput("another type expected");
        if (field.paramType == ParamType.STRING) {
            if (!AbiString.isAt(param.value, 0)) revert UnexpectedInput("value is not an ABI-encoded string");
            return FixedPointText.parse(abi.decode(param.value, (string)), decimals);
        }
        if (param.value.length != 32) revert UnexpectedInput("value is not an ABI-encoded integer");
        int256 unit = int256(10 ** uint256(decimals));
        int256 value = int256(uint256(bytes32(param.value)));
        if (field.paramType == ParamType.UINT && value < 0) value = type(int256).max; // beyond every range
        int256 bound = type(int256).max / unit;
        // A number that doesn't fit stands at the end of int256, so it is out of range.
        if (value > bound) return type(int256).max;
        return value < -bound ? type(int256).min : value * unit;
    }

    /// @dev For whole numbers the words from which the executor reads a range, which it then holds.
    function _rangeOf(Field memory field, uint8 decimals) private pure returns (string memory) {
        if (field.paramType == ParamType.STRING) {
            string memory least = FixedPointText.format(field.least, decimals, decimals);
            string memory most = FixedPointText.format(field.most, decimals, decimals);
            return string.concat(" (a decimal, ", least, " to ", most, ")");
        }
        int256 unit = int256(10 ** uint256(decimals));
        int256 first = field.least / unit + (field.least % unit > 0 ? int256(1) : int256(0));
        int256 last = field.most / unit - (field.most % unit < 0 ? int256(1) : int256(0));
        return string.concat(" from ", Strings.toStringSigned(first), " to ", Strings.toStringSigned(last));
    }

    function _requireServed(Field memory field, uint256 place) private view {
        if (field.least > field.most) revert WrongField(field.name, "least is above most");
        if (field.source == Source.FIXED && (field.fixedValue < field.least || field.fixedValue > field.most)) {
            revert WrongField(field.name, "fixedValue is out of its range");
        }
        if (field.source != Source.PARAMETER) return;
        if (field.count != 1) revert WrongField(field.name, "a parameter is one number");
        if (inputDecimals[place] > FixedPointText.MAX_DECIMALS) revert WrongField(field.name, "too many decimals");
        bool isServed = field.paramType == ParamType.STRING || field.paramType == ParamType.INT
            || (field.paramType == ParamType.UINT && field.least >= 0);
        if (!isServed) revert WrongField(field.name, "the type is STRING, INT, or UINT from 0 on");
    }
}
