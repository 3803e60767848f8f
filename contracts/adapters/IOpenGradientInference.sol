// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What OpenGradient's inference precompile at 0xF4 offers for models of numbers
/// @notice Written after github.com/OpenGradient/og-evm. Language models and model workflows are left out.
interface IOpenGradientInference {
    enum ModelInferenceMode {
        VANILLA,
        ZK,
        TEE
    }

    /// @notice `value / 10^decimals`
    struct Number {
        int128 value;
        int128 decimals;
    }

    struct NumberTensor {
        string name;
        Number[] values;
        uint32[] shape;
    }

    struct StringTensor {
        string name;
        string[] values;
    }

    struct ModelInput {
        NumberTensor[] numbers;
        StringTensor[] strings;
    }

    struct ModelInferenceRequest {
        ModelInferenceMode mode;
        string modelCID;
        ModelInput input;
    }

    struct ModelOutput {
        NumberTensor[] numbers;
        StringTensor[] strings;
        bool is_simulation_result;
    }

    function runModelInference(ModelInferenceRequest memory request) external returns (ModelOutput memory);
}
