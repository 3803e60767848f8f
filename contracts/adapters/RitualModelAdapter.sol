// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {INumericModels} from "../interfaces/INumericModels.sol";
import {ExactScaling} from "./ExactScaling.sol";
import {ModelNames} from "./ModelNames.sol";

/// @title Answers calls in the encoding of Ritual's ONNX precompile at 0x0800, with models in integers
/// @notice A call has no selector: its data are `abi.encode(bytes mlModelId, bytes tensorData, uint8 inputArithmetic, uint8
///   inputScale, uint8 outputArithmetic, uint8 outputScale, uint8 rounding)`, and the output is `abi.encode(bytes tensorData,
///   uint8 arithmetic, uint8 scale, uint8 rounding)`. A tensor is `abi.encode(uint8 dtype, uint16[] shape, int32[] values)`.
///   - Arithmetic 1: fixed point, a value is `number * base^scale` in an int32. Arithmetic 2: the bits of an IEEE 754
///     single-precision number; the scale is not used.
///   - Rounding, of inputs and outputs: 1 half to even, 2 towards zero, 3 down, 4 up.
/// @dev The code can be put at 0x0800 of a devnet with `anvil_setCode` or in its genesis: all that it needs is in the code.
///   What their documents leave open: data types are numbered as in ONNX, 1 for float32 and 6 for int32, and have to fit
///   the arithmetic; the base of scales is a constructor argument; any shape with the right number of values is taken,
///   and an output has the shape [length].
contract RitualModelAdapter {
    /// @notice The data aren't the encoding of a call.
    error MalformedCall();

    /// @notice There is arithmetic 1, fixed point, and 2, IEEE 754.
    error UnsupportedArithmetic(uint8 arithmetic);

    /// @notice There are roundings 1 to 4.
    error UnsupportedRounding(uint8 rounding);

    /// @notice A data type that isn't the arithmetic's.
    error UnsupportedDataType(uint8 dtype, uint8 arithmetic);

    /// @notice The scale is too large.
    error UnsupportedScale(uint8 scale, uint8 most);

    /// @notice The tensor has another number of values than its shape says.
    error ShapeMismatch(uint256 shapeSize, uint256 values);

    /// @notice The model takes another number of values.
    error InputLengthMismatch(uint256 given, uint256 wanted);

    /// @notice An output is too large for its encoding.
    error OutputTooLarge(uint256 index, int256 value);

    /// @notice The base of scales is 2 or 10.
    error UnsupportedBase(uint8 base);

    uint8 private constant FIXED = 1;
    uint8 private constant IEEE = 2;
    uint8 private constant FLOAT32 = 1;
    uint8 private constant INT32 = 6;

    /// @notice Where models are evaluated; 0x1a on pyevm-agents chains.
    INumericModels public immutable models;

    /// @notice Their models' IDs, such as `hf/owner/repo/file.onnx@<40 hex digits>`, and ours.
    ModelNames public immutable names;

    /// @notice The base of scales.
    uint8 public immutable base;

    /// @notice The largest scale: its power is below 10^37.
    uint8 public immutable maxScale;

    /// @notice A decoded call.
    struct Call {
        bytes mlModelId;
        bytes tensorData;
        uint8 inputArithmetic;
        uint8 inputScale;
        uint8 outputArithmetic;
        uint8 outputScale;
        uint8 rounding;
    }

    constructor(INumericModels _models, ModelNames _names, uint8 _base) {
        if (_base != 2 && _base != 10) revert UnsupportedBase(_base);
        models = _models;
        names = _names;
        base = _base;
        maxScale = _base == 2 ? 120 : ExactScaling.MAX_DECIMALS;
    }

    fallback(bytes calldata data) external returns (bytes memory) {
        try this.decodeCall(data) returns (Call memory request, int32[] memory values) {
            return _run(request, values);
        } catch (bytes memory reason) {
            if (reason.length == 0) revert MalformedCall();
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    /// @notice Decodes a call and checks its modes.
    function decodeCall(bytes calldata data) external view returns (Call memory request, int32[] memory values) {
        (
            request.mlModelId,
            request.tensorData,
            request.inputArithmetic,
            request.inputScale,
            request.outputArithmetic,
            request.outputScale,
            request.rounding
        ) = abi.decode(data, (bytes, bytes, uint8, uint8, uint8, uint8, uint8));
        _requireServed(request.inputArithmetic, request.inputScale);
        _requireServed(request.outputArithmetic, request.outputScale);
        if (request.rounding == 0 || request.rounding > 4) revert UnsupportedRounding(request.rounding);

        uint8 dtype;
        uint16[] memory shape;
        (dtype, shape, values) = abi.decode(request.tensorData, (uint8, uint16[], int32[]));
        if (dtype != _dtypeOf(request.inputArithmetic)) revert UnsupportedDataType(dtype, request.inputArithmetic);
        uint256 size = 1;
        for (uint256 i = 0; i < shape.length; i++) size *= shape[i];
        if (size != values.length) revert ShapeMismatch(size, values.length);
    }

    function _run(Call memory request, int32[] memory values) private view returns (bytes memory) {
        string memory modelId = names.find(request.mlModelId);
        (, uint8[] memory inputDecimals, uint8[] memory outputDecimals,) = models.describeModel(modelId);
        if (values.length != inputDecimals.length) revert InputLengthMismatch(values.length, inputDecimals.length);
        int256[] memory input = new int256[](values.length);
        for (uint256 i = 0; i < input.length; i++) input[i] = _read(request, values[i], inputDecimals[i]);

        int256[] memory output = models.runModel(modelId, input);
        int32[] memory written = new int32[](output.length);
        for (uint256 i = 0; i < output.length; i++) written[i] = _write(request, i, output[i], outputDecimals[i]);
        uint16[] memory shape = new uint16[](1);
        shape[0] = uint16(output.length);
        bytes memory tensor = abi.encode(_dtypeOf(request.outputArithmetic), shape, written);
        return abi.encode(tensor, request.outputArithmetic, request.outputScale, request.rounding);
    }

    function _read(Call memory request, int32 value, uint8 decimals) private view returns (int256) {
        ExactScaling.Rounding rounding = ExactScaling.Rounding(request.rounding);
        uint256 factor = 10 ** uint256(decimals);
        if (request.inputArithmetic == IEEE) return ExactScaling.fromFloat(uint32(value), factor, rounding);
        return ExactScaling.scale(value, factor, uint256(base) ** request.inputScale, rounding);
    }

    function _write(Call memory request, uint256 index, int256 value, uint8 decimals) private view returns (int32) {
        ExactScaling.Rounding rounding = ExactScaling.Rounding(request.rounding);
        uint256 divisor = 10 ** uint256(decimals);
        if (request.outputArithmetic == IEEE) return int32(ExactScaling.toFloat(value, divisor, rounding));
        int256 scaled = ExactScaling.scale(value, uint256(base) ** request.outputScale, divisor, rounding);
        if (scaled != int32(scaled)) revert OutputTooLarge(index, value);
        return int32(scaled);
    }

    function _requireServed(uint8 arithmetic, uint8 scale) private view {
        if (arithmetic != FIXED && arithmetic != IEEE) revert UnsupportedArithmetic(arithmetic);
        if (arithmetic == FIXED && scale > maxScale) revert UnsupportedScale(scale, maxScale);
    }

    function _dtypeOf(uint8 arithmetic) private pure returns (uint8) {
        return arithmetic == IEEE ? FLOAT32 : INT32;
    }
}
