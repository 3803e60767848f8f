// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IAbiTool} from "./IAbiTool.sol";
import {AbiText} from "../libraries/AbiText.sol";
import {AbiTypes} from "../libraries/AbiTypes.sol";

/// @title Reads the typed texts of arguments, and writes the outputs of a call as a sentence
/// @notice A sentence is `amounts: [0.01 WETH, 24.5 USDC]`, `owner: 0x…`, `true`, or `Done` for a function without
///   outputs. One deployment serves all tools.
contract AbiToolTexts {
    /// @notice Bytes of a sentence. A longer one ends with `...`.
    uint256 public constant MAX_BYTES = 400;

    /// @notice Bytes of a token's symbol. Others than letters, digits and `.+-_$` are left out.
    uint256 public constant MAX_SYMBOL_BYTES = 16;

    /// @notice Gas for a token to tell its symbol or its decimals.
    uint256 public constant TOKEN_GAS = 100_000;

    /// @notice Decimals of a token from which on its amounts are shown in base units.
    uint256 public constant MAX_DECIMALS = 76;

    /// @dev The unit of an integer. Without a symbol it is a plain number.
    struct Unit {
        string symbol;
        uint256 decimals;
    }

    /// @notice Encodes the value in a text, without the offset that a dynamic type has in front.
    /// @param parameter a name for errors
    /// @param limits what integers and addresses in the text may be
    function encode(
        string calldata abiType,
        string calldata text,
        string calldata parameter,
        AbiText.Limits calldata limits
    ) external pure returns (bytes memory body) {
        return AbiText.encodeBody(AbiTypes.parse(abiType), text, parameter, limits);
    }

    /// @notice Writes a sentence.
    /// @param outputTypes types of the outputs as a tuple
    /// @param outputs names and units, one for each type
    /// @param data the return data
    /// @param tokens for each output, the tokens in whose units it is
    function describe(
        string calldata outputTypes,
        IAbiTool.Output[] calldata outputs,
        bytes memory data,
        address[][] memory tokens
    ) external view returns (string memory) {
        AbiTypes.Type memory types = AbiTypes.parseTuple(outputTypes);
        if (types.parts.length == 0 || data.length == 0) return "Done";
        AbiText.Writer memory writer = AbiText.open(MAX_BYTES);
        uint256 head = 0;
        for (uint256 i = 0; i < types.parts.length && !writer.isFull; i++) {
            AbiTypes.Type memory part = types.parts[i];
            if (i > 0) AbiText.put(writer, ", ");
            if (bytes(outputs[i].name).length != 0) {
                AbiText.put(writer, outputs[i].name);
                AbiText.put(writer, ": ");
            }
            uint256 place = part.isDynamic ? AbiText.offsetAt(data, 0, head, writer) : head;
            _write(part, data, place, _units(outputs[i], tokens[i]), writer);
            head += 32 * part.words;
        }
        return writer.isMalformed ? "Done, with an output that has another form than expected" : AbiText.close(writer);
    }

    /// @notice Reads an output that is an integer, or the last item of one that is a list of integers.
    /// @param index the place of the output
    /// @param data the return data
    /// @return value the integer
    /// @return isMalformed whether the data do not encode the output
    function readLast(string calldata outputTypes, uint256 index, bytes memory data)
        external
        pure
        returns (uint256 value, bool isMalformed)
    {
        AbiTypes.Type memory types = AbiTypes.parseTuple(outputTypes);
        AbiText.Writer memory state;
        uint256 place = 0;
        for (uint256 i = 0; i < index; i++) place += 32 * types.parts[i].words;
        AbiTypes.Type memory part = types.parts[index];
        if (part.kind == AbiTypes.Kind.ARRAY) {
            place = AbiText.offsetAt(data, 0, place, state);
            uint256 count = AbiText.wordAt(data, place, state);
            if (count == 0 || count > data.length / 32) state.isMalformed = true;
            else place += 32 * count;
        } else if (part.kind == AbiTypes.Kind.FIXED_ARRAY) {
            place += 32 * (part.size - 1);
        }
        value = AbiText.wordAt(data, place, state);
        isMalformed = state.isMalformed;
    }

    /// @dev Integers and lists of integers have units; every other value is a typed text.
    function _write(
        AbiTypes.Type memory abiType,
        bytes memory data,
        uint256 place,
        Unit[] memory units,
        AbiText.Writer memory writer
    ) private pure {
        if (units.length == 0) return AbiText.write(abiType, data, place, writer);
        if (_isInteger(abiType)) return _writeAmount(abiType, data, place, units[units.length - 1], writer);
        bool isList = abiType.kind == AbiTypes.Kind.ARRAY || abiType.kind == AbiTypes.Kind.FIXED_ARRAY;
        if (!isList || !_isInteger(abiType.parts[0])) return AbiText.write(abiType, data, place, writer);
        uint256 count = abiType.size;
        if (count == 0) {
            count = AbiText.wordAt(data, place, writer);
            place += 32;
        }
        AbiText.put(writer, "[");
        for (uint256 i = 0; i < count && !writer.isFull && !writer.isMalformed; i++) {
            if (i > 0) AbiText.put(writer, ", ");
            Unit memory unit = units.length == count ? units[i] : units[units.length - 1];
            _writeAmount(abiType.parts[0], data, place + 32 * i, unit, writer);
        }
        AbiText.put(writer, "]");
    }

    function _writeAmount(
        AbiTypes.Type memory abiType,
        bytes memory data,
        uint256 place,
        Unit memory unit,
        AbiText.Writer memory writer
    ) private pure {
        if (bytes(unit.symbol).length == 0) return AbiText.write(abiType, data, place, writer);
        uint256 value = AbiText.wordAt(data, place, writer);
        if (!AbiText.isValue(abiType, value)) writer.isMalformed = true;
        if (writer.isMalformed) return;
        if (abiType.kind == AbiTypes.Kind.INT && int256(value) < 0) {
            AbiText.put(writer, "-");
            unchecked {
                value = 0 - value;
            }
        }
        AbiText.put(writer, _decimal(value, unit.decimals));
        AbiText.put(writer, " ");
        AbiText.put(writer, unit.symbol);
    }

    /// @dev The number with a decimal point, without zeros at its end.
    function _decimal(uint256 value, uint256 decimals) private pure returns (string memory) {
        uint256 one = 10 ** decimals;
        string memory whole = Strings.toString(value / one);
        uint256 rest = value % one;
        if (rest == 0) return whole;
        // A one in front keeps the zeros behind the point.
        bytes memory digits = bytes(Strings.toString(one + rest));
        uint256 length = digits.length;
        while (digits[length - 1] == "0") length--;
        digits[0] = ".";
        assembly ("memory-safe") {
            mstore(digits, length)
        }
        return string.concat(whole, string(digits));
    }

    function _isInteger(AbiTypes.Type memory abiType) private pure returns (bool) {
        return abiType.kind == AbiTypes.Kind.UINT || abiType.kind == AbiTypes.Kind.INT;
    }

    function _units(IAbiTool.Output calldata output, address[] memory tokens)
        private
        view
        returns (Unit[] memory units)
    {
        if (bytes(output.symbol).length != 0) {
            units = new Unit[](1);
            if (output.decimals <= MAX_DECIMALS) units[0] = Unit(clean(bytes(output.symbol)), output.decimals);
            return units;
        }
        units = new Unit[](tokens.length);
        for (uint256 i = 0; i < tokens.length; i++) units[i] = _unitOf(tokens[i]);
    }

    /// @dev Without a unit if the token does not tell both its symbol and its decimals.
    function _unitOf(address token) private view returns (Unit memory unit) {
        bytes memory answer = _ask(token, IERC20Metadata.decimals.selector);
        if (answer.length < 32 || uint256(bytes32(answer)) > MAX_DECIMALS) return unit;
        unit.decimals = uint256(bytes32(answer));
        answer = _ask(token, IERC20Metadata.symbol.selector);
        if (answer.length == 32) {
            unit.symbol = clean(answer); // Maker's token has a bytes32
        } else if (answer.length >= 64 && uint256(bytes32(answer)) == 32) {
            bytes memory symbol = new bytes(answer.length - 64);
            for (uint256 i = 0; i < symbol.length; i++) symbol[i] = answer[64 + i];
            unit.symbol = clean(symbol); // zeros behind the text are left out
        }
    }

    /// @dev At most 128 bytes of what a token answers; none if it reverts.
    function _ask(address token, bytes4 selector) private view returns (bytes memory answer) {
        bytes memory data = abi.encodePacked(selector);
        bool success;
        assembly ("memory-safe") {
            success := staticcall(TOKEN_GAS, token, add(data, 32), 4, 0, 0)
        }
        uint256 size = success ? LowLevelCall.returnDataSize() : 0;
        answer = new bytes(size < 128 ? size : 128);
        assembly ("memory-safe") {
            returndatacopy(add(answer, 32), 0, mload(answer))
        }
    }

    /// @notice Returns the letters, digits and `.+-_$` of a symbol, at most MAX_SYMBOL_BYTES; nothing of one without
    ///   letters, which would read as a number.
    function clean(bytes memory symbol) public pure returns (string memory) {
        bytes memory kept = new bytes(MAX_SYMBOL_BYTES);
        uint256 length = 0;
        bool hasLetter = false;
        for (uint256 i = 0; i < symbol.length && length < MAX_SYMBOL_BYTES; i++) {
            bytes1 sign = symbol[i];
            bool isLetter = (sign >= "A" && sign <= "Z") || (sign >= "a" && sign <= "z");
            bool isOther = (sign >= "0" && sign <= "9") || sign == "." || sign == "+" || sign == "-" || sign == "_";
            if (isLetter || isOther || sign == "$") kept[length++] = sign;
            hasLetter = hasLetter || isLetter;
        }
        if (!hasLetter) length = 0;
        assembly ("memory-safe") {
            mstore(kept, length)
        }
        return string(kept);
    }
}
