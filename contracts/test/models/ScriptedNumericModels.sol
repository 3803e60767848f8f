// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {INumericModelErrors} from "../../interfaces/INumericModelErrors.sol";
import {INumericModels} from "../../interfaces/INumericModels.sol";

/// @title Takes the place of the numeric models at 0x1a in tests without the precompile
/// @notice A model is a linear map: each output is the sum of weights times inputs, and an offset, divided by a divisor
///   towards zero, and cut to a range.
contract ScriptedNumericModels is INumericModels, INumericModelErrors {
    /// @param weights of each output, one after another
    struct LinearModel {
        bytes32 digest;
        uint8[] inputDecimals;
        uint8[] outputDecimals;
        int256 least;
        int256 most;
        int256[] weights;
        int256[] offsets;
        int256 divisor;
        int256 outputMost;
    }

    uint256 private constant GAS = 5_000;

    mapping(string modelId => LinearModel) private modelOf;

    function set(string memory modelId, LinearModel memory model) external {
        modelOf[modelId] = model;
    }

    /// @inheritdoc INumericModels
    function runModel(string memory modelId, int256[] memory input) external view returns (int256[] memory output) {
        LinearModel memory model = _find(modelId);
        uint256 wanted = model.inputDecimals.length;
        if (input.length != wanted) revert InputLengthMismatch(input.length, wanted);
        for (uint256 i = 0; i < wanted; i++) {
            bool isWithin = input[i] >= model.least && input[i] <= model.most;
            if (!isWithin) revert InputOutOfRange(i, input[i], model.least, model.most);
        }
        output = new int256[](model.outputDecimals.length);
        for (uint256 k = 0; k < output.length; k++) {
            int256 sum = model.offsets[k];
            for (uint256 i = 0; i < wanted; i++) sum += model.weights[k * wanted + i] * input[i];
            sum /= model.divisor;
            int256 most = model.outputMost;
            output[k] = sum > most ? most : sum < -most ? -most : sum;
        }
    }

    /// @inheritdoc INumericModels
    function describeModel(string memory modelId)
        external
        view
        returns (bytes32 digest, uint8[] memory inputDecimals, uint8[] memory outputDecimals, uint256 gas)
    {
        LinearModel memory model = _find(modelId);
        return (model.digest, model.inputDecimals, model.outputDecimals, GAS);
    }

    function _find(string memory modelId) private view returns (LinearModel memory model) {
        model = modelOf[modelId];
        if (model.digest == 0) revert UnknownModel(modelId);
    }
}
