// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title Reads a function's signature: `transfer(address to, uint256 amount)`
/// @notice Types: string, address, bool, intN, uintN, and arrays of them without a length. Names may be left out. What
///   follows the closing parenthesis doesn't count.
library ToolSignature {
    /// @notice The text is not a name and parameters in parentheses.
    error MalformedSignature(string signature);

    /// @notice The executor has no such parameters.
    error UnsupportedType(string signature, string parameter);

    /// @notice Reads a signature.
    /// @return selector of the function
    /// @return name of the function
    /// @return params the parameters as the executor reads them
    function read(string memory signature)
        internal
        pure
        returns (bytes4 selector, string memory name, IERCAgentTool.ParamDescription[] memory params)
    {
        bytes memory text = bytes(signature);
        uint256 open = _find(text, "(", 0, text.length);
        uint256 close = _find(text, ")", open, text.length);
        (uint256 nameStart, uint256 nameEnd) = _lastWord(text, 0, open);
        if (close == text.length || nameStart == nameEnd) revert MalformedSignature(signature);
        name = _slice(text, nameStart, nameEnd);

        uint256 count = _count(text, open + 1, close);
        params = new IERCAgentTool.ParamDescription[](count);
        string memory canonical = string.concat(name, "(");
        uint256 start = open + 1;
        for (uint256 i = 0; i < count; i++) {
            uint256 end = _find(text, ",", start, close);
            string memory kind;
            (params[i], kind) = _parameter(signature, text, start, end, i);
            canonical = string.concat(canonical, i == 0 ? "" : ",", kind);
            start = end + 1;
        }
        selector = bytes4(keccak256(bytes(string.concat(canonical, ")"))));
    }

    function _parameter(string memory signature, bytes memory text, uint256 start, uint256 end, uint256 index)
        private
        pure
        returns (IERCAgentTool.ParamDescription memory param, string memory kind)
    {
        (uint256 typeStart, uint256 typeEnd) = _firstWord(text, start, end);
        (uint256 nameStart, uint256 nameEnd) = _lastWord(text, start, end);
        (param.paramType, kind, param.description) = _type(signature, _slice(text, typeStart, typeEnd));
        param.name = nameStart == typeStart
            ? string.concat("argument", Strings.toString(index + 1))
            : _slice(text, nameStart, nameEnd);
    }

    function _type(string memory signature, string memory written)
        private
        pure
        returns (IERCAgentTool.ParamType paramType, string memory kind, string memory description)
    {
        bytes memory text = bytes(written);
        uint256 size = text.length;
        bool isArray = size >= 2 && text[size - 2] == "[" && text[size - 1] == "]";
        string memory base = _slice(text, 0, isArray ? size - 2 : size);
        if (_same(base, "uint") || _same(base, "int")) base = string.concat(base, "256");
        string memory values;
        if (_same(base, "string")) paramType = IERCAgentTool.ParamType.STRING;
        else if (_same(base, "address")) paramType = IERCAgentTool.ParamType.ADDRESS;
        else if (_same(base, "bool")) paramType = IERCAgentTool.ParamType.BOOL;
        else (paramType, values) = _integer(signature, base);
        if (isArray) paramType = IERCAgentTool.ParamType(uint8(paramType) + 5);
        kind = string.concat(base, isArray ? "[]" : "");
        description = string.concat(kind, values);
    }

    /// @dev The range of a short integer is stated, so that the executor can keep to it.
    function _integer(string memory signature, string memory base)
        private
        pure
        returns (IERCAgentTool.ParamType paramType, string memory values)
    {
        bytes memory text = bytes(base);
        bool isSigned = text.length > 0 && text[0] == "i";
        string memory word = isSigned ? "int" : "uint";
        uint256 digits = bytes(word).length;
        (bool isNumber, uint256 bits) = text.length > digits && _same(_slice(text, 0, digits), word)
            ? Strings.tryParseUint(base, digits, text.length)
            : (false, 0);
        if (!isNumber || text[digits] == "0" || bits == 0 || bits > 256 || bits % 8 != 0) {
            revert UnsupportedType(signature, base);
        }
        if (isSigned) {
            if (bits < 256) {
                string memory most = Strings.toString((uint256(1) << (bits - 1)) - 1);
                values = string.concat(", from -", Strings.toString(uint256(1) << (bits - 1)), " to ", most);
            }
            return (IERCAgentTool.ParamType.INT, values);
        }
        if (bits < 256) values = string.concat(", from 0 to ", Strings.toString((uint256(1) << bits) - 1));
        return (IERCAgentTool.ParamType.UINT, values);
    }

    function _count(bytes memory text, uint256 start, uint256 end) private pure returns (uint256 count) {
        (uint256 first, uint256 last) = _firstWord(text, start, end);
        if (first == last && _find(text, ",", start, end) == end) return 0;
        count = 1;
        for (uint256 i = start; i < end; i++) {
            if (text[i] == ",") count++;
        }
    }

    function _find(bytes memory text, bytes1 what, uint256 start, uint256 end) private pure returns (uint256 place) {
        for (place = start; place < end && text[place] != what; place++) {}
    }

    function _firstWord(bytes memory text, uint256 from, uint256 to)
        private
        pure
        returns (uint256 start, uint256 end)
    {
        for (start = from; start < to && text[start] == " "; start++) {}
        for (end = start; end < to && text[end] != " "; end++) {}
    }

    function _lastWord(bytes memory text, uint256 from, uint256 to) private pure returns (uint256 start, uint256 end) {
        for (end = to; end > from && text[end - 1] == " "; end--) {}
        for (start = end; start > from && text[start - 1] != " "; start--) {}
    }

    function _slice(bytes memory text, uint256 start, uint256 end) private pure returns (string memory) {
        bytes memory found = new bytes(end - start);
        for (uint256 i = start; i < end; i++) {
            found[i - start] = text[i];
        }
        return string(found);
    }

    function _same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }
}
