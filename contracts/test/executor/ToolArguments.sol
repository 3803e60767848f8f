// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {Bytes} from "./Bytes.sol";

/// @title The arguments of a tool: together as `abi.encode` has them, one by one, and as the input of its `run`
library ToolArguments {
    /// @notice Takes `abi.encode(…)` of all arguments apart.
    /// @return isValid false where the bytes are not exactly the encoding of such arguments
    /// @return values `abi.encode` of each
    function split(IERCAgentTool.ParamDescription[] memory parameters, bytes memory arguments)
        internal
        pure
        returns (bool isValid, bytes[] memory values)
    {
        uint256 count = parameters.length;
        values = new bytes[](count);
        if (arguments.length < 32 * count) return (false, values);
        for (uint256 i = 0; i < count; i++) {
            (isValid, values[i]) = _value(parameters[i].paramType, arguments, 32 * i);
            if (!isValid) return (false, values);
        }
        // Encoded again it is the same: no gaps, no other order, no dirty padding.
        return (Bytes.equal(_join(parameters, values), arguments), values);
    }

    /// @notice Returns what a tool's `run` takes.
    /// @param values `abi.encode` of each argument
    function input(IERCAgentTool.ParamDescription[] memory parameters, bytes[] memory values)
        internal
        pure
        returns (IERCAgentTool.Input memory made)
    {
        made.params = new IERCAgentTool.ParamValue[](values.length);
        for (uint256 i = 0; i < values.length; i++) {
            made.params[i] = IERCAgentTool.ParamValue(parameters[i].paramType, values[i]);
        }
        made.abiEncodedParams = _join(parameters, values);
    }

    /// @notice Returns the type that a parameter has in Solidity.
    function typeName(IERCAgentTool.ParamType paramType) internal pure returns (string memory) {
        if (isList(paramType)) return string.concat(typeName(itemType(paramType)), "[]");
        if (paramType == IERCAgentTool.ParamType.STRING) return "string";
        if (paramType == IERCAgentTool.ParamType.ADDRESS) return "address";
        if (paramType == IERCAgentTool.ParamType.BOOL) return "bool";
        return paramType == IERCAgentTool.ParamType.INT ? "int256" : "uint256";
    }

    /// @notice Returns the parameters of a tool as Solidity writes them: `(address asset, uint256 amount)`.
    function signature(IERCAgentTool.ParamDescription[] memory parameters) internal pure returns (string memory text) {
        for (uint256 i = 0; i < parameters.length; i++) {
            string memory comma = i == 0 ? "" : ", ";
            text = string.concat(text, comma, typeName(parameters[i].paramType), " ", parameters[i].name);
        }
        return string.concat("(", text, ")");
    }

    function isList(IERCAgentTool.ParamType paramType) internal pure returns (bool) {
        return paramType >= IERCAgentTool.ParamType.STRING_ARRAY;
    }

    /// @notice Returns the type of a list's items.
    function itemType(IERCAgentTool.ParamType paramType) internal pure returns (IERCAgentTool.ParamType) {
        return IERCAgentTool.ParamType(uint8(paramType) - uint8(IERCAgentTool.ParamType.STRING_ARRAY));
    }

    function isDynamic(IERCAgentTool.ParamType paramType) internal pure returns (bool) {
        return isList(paramType) || paramType == IERCAgentTool.ParamType.STRING;
    }

    /// @dev The argument whose head stands at `head`.
    function _value(IERCAgentTool.ParamType paramType, bytes memory data, uint256 head)
        private
        pure
        returns (bool, bytes memory)
    {
        uint256 word = Bytes.word(data, head);
        if (!isDynamic(paramType)) return (_fits(paramType, word), abi.encode(word));
        if (word > data.length || word + 32 > data.length) return (false, "");
        uint256 count = Bytes.word(data, word);
        uint256 start = word + 32;
        uint256 left = data.length - start;
        if (paramType == IERCAgentTool.ParamType.STRING) {
            if (count > left) return (false, "");
            return (true, abi.encode(Bytes.slice(data, start, start + count)));
        }
        if (count > left / 32) return (false, "");
        if (paramType == IERCAgentTool.ParamType.STRING_ARRAY) return _strings(data, start, count);
        for (uint256 i = 0; i < count; i++) {
            if (!_fits(itemType(paramType), Bytes.word(data, start + 32 * i))) return (false, "");
        }
        return (true, bytes.concat(abi.encode(uint256(32)), Bytes.slice(data, word, start + 32 * count)));
    }

    function _strings(bytes memory data, uint256 start, uint256 count) private pure returns (bool, bytes memory) {
        string[] memory texts = new string[](count);
        for (uint256 i = 0; i < count; i++) {
            uint256 offset = Bytes.word(data, start + 32 * i);
            if (offset > data.length || start + offset + 32 > data.length) return (false, "");
            uint256 size = Bytes.word(data, start + offset);
            uint256 from = start + offset + 32;
            if (size > data.length - from) return (false, "");
            texts[i] = string(Bytes.slice(data, from, from + size));
        }
        return (true, abi.encode(texts));
    }

    function _fits(IERCAgentTool.ParamType paramType, uint256 word) private pure returns (bool) {
        if (paramType == IERCAgentTool.ParamType.ADDRESS) return word >> 160 == 0;
        return paramType != IERCAgentTool.ParamType.BOOL || word <= 1;
    }

    function _join(IERCAgentTool.ParamDescription[] memory parameters, bytes[] memory values)
        private
        pure
        returns (bytes memory)
    {
        bytes memory heads;
        bytes memory tails;
        for (uint256 i = 0; i < values.length; i++) {
            if (isDynamic(parameters[i].paramType)) {
                heads = bytes.concat(heads, abi.encode(32 * values.length + tails.length));
                // Alone, a dynamic value has one word of offset before it.
                tails = bytes.concat(tails, Bytes.slice(values[i], 32, values[i].length));
            } else {
                heads = bytes.concat(heads, values[i]);
            }
        }
        return bytes.concat(heads, tails);
    }
}
