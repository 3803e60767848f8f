// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {INumericModels} from "../interfaces/INumericModels.sol";
import {ExactScaling} from "./ExactScaling.sol";
import {IOpenGradientInference} from "./IOpenGradientInference.sol";
import {ModelNames} from "./ModelNames.sol";

/// @title Answers calls in the encoding of OpenGradient's precompile at 0xF4, with models in integers
/// @notice The numbers of all tensors, in order, are the model's input; a number with more decimals than the model takes is
///   rounded half to even. The output is one tensor, `output`. It is never a simulation.
/// @dev The code can be put at 0xF4 of a devnet with `anvil_setCode` or in its genesis: all that it needs is in the code.
contract OpenGradientAdapter is IOpenGradientInference {
    /// @notice Only VANILLA is served: the answer is computed by every node, and has no other proof.
    error UnsupportedMode(ModelInferenceMode mode);

    /// @notice The models take numbers alone.
    error UnsupportedStrings(uint256 count);

    /// @notice The tensor has another number of values than its shape says.
    error ShapeMismatch(string name, uint256 shapeSize, uint256 values);

    /// @notice The model takes another number of values.
    error InputLengthMismatch(uint256 given, uint256 wanted);

    /// @notice Decimals are from 0 to `ExactScaling.MAX_DECIMALS`.
    error UnsupportedDecimals(int128 decimals);

    /// @notice An output is too large for its encoding.
    error OutputTooLarge(uint256 index, int256 value);

    /// @notice Where models are evaluated; 0x1a on pyevm-agents chains.
    INumericModels public immutable models;

    /// @notice Their models' CIDs and our IDs.
    ModelNames public immutable names;

    constructor(INumericModels _models, ModelNames _names) {
        models = _models;
        names = _names;
    }

    /// @inheritdoc IOpenGradientInference
    function runModelInference(ModelInferenceRequest memory request)
        external
        view
        returns (ModelOutput memory result)
    {
        if (request.mode != ModelInferenceMode.VANILLA) revert UnsupportedMode(request.mode);
        if (request.input.strings.length != 0) revert UnsupportedStrings(request.input.strings.length);
        string memory modelId = names.find(bytes(request.modelCID));
        (, uint8[] memory inputDecimals, uint8[] memory outputDecimals,) = models.describeModel(modelId);
        int256[] memory output = models.runModel(modelId, _flatten(request.input.numbers, inputDecimals));

        result.numbers = new NumberTensor[](1);
        result.numbers[0].name = "output";
        result.numbers[0].values = new Number[](output.length);
        result.numbers[0].shape = new uint32[](1);
        result.numbers[0].shape[0] = uint32(output.length);
        for (uint256 i = 0; i < output.length; i++) {
            if (output[i] != int128(output[i])) revert OutputTooLarge(i, output[i]);
            result.numbers[0].values[i] = Number(int128(output[i]), int128(uint128(outputDecimals[i])));
        }
    }

    function _flatten(NumberTensor[] memory tensors, uint8[] memory decimals)
        private
        pure
        returns (int256[] memory input)
    {
        uint256 count;
        for (uint256 i = 0; i < tensors.length; i++) {
            uint256 size = 1;
            for (uint256 k = 0; k < tensors[i].shape.length; k++) size *= tensors[i].shape[k];
            uint256 given = tensors[i].values.length;
            if (size != given) revert ShapeMismatch(tensors[i].name, size, given);
            count += given;
        }
        if (count != decimals.length) revert InputLengthMismatch(count, decimals.length);
        input = new int256[](count);
        uint256 place;
        for (uint256 i = 0; i < tensors.length; i++) {
            for (uint256 k = 0; k < tensors[i].values.length; k++) {
                input[place] = _read(tensors[i].values[k], decimals[place]);
                place++;
            }
        }
    }

    function _read(Number memory number, uint8 decimals) private pure returns (int256) {
        bool isServed = number.decimals >= 0 && number.decimals <= int128(uint128(ExactScaling.MAX_DECIMALS));
        if (!isServed) revert UnsupportedDecimals(number.decimals);
        uint256 divisor = 10 ** uint256(uint128(number.decimals));
        return ExactScaling.scale(
            number.value, 10 ** uint256(decimals), divisor, ExactScaling.Rounding.HALF_EVEN
        );
    }
}
