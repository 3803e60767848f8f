// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ToolSignature} from "../adapters/ToolSignature.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";

/// @title Reads the `toolAbi` of a smart-contract tool
/// @notice A function in words, `transfer(address to, uint256 amount) returns (bool)`, or its element of a JSON ABI,
///   `{"type":"function","name":"transfer","inputs":[{"name":"to","type":"address"},…],"outputs":[…]}`.
///   Parameters are strings, addresses, bools, integers, and arrays of them without a length; others revert with
///   `ToolSignature.UnsupportedType`, which names the type.
library ToolAbi {
    /// @notice The text is neither a function in words nor the element of a JSON ABI.
    /// @param position the byte at which it stops being one
    error MalformedToolAbi(string toolAbi, uint256 position);

    /// @dev A place in a text.
    struct Cursor {
        string source;
        bytes text;
        uint256 place;
    }

    /// @dev What is read of a JSON element.
    struct Element {
        string name;
        string inputs;
        string outputs;
        bool hasName;
        bool hasInputs;
    }

    /// @notice Reads a function.
    /// @return selector of the function
    /// @return input its parameters
    /// @return outputType the type of what it returns: empty for nothing, `uint256` for one value, `(uint256,bool)` for more
    function read(string memory toolAbi)
        internal
        pure
        returns (bytes4 selector, IERCAgentToolV1.InputDescription memory input, string memory outputType)
    {
        Cursor memory cursor = Cursor(toolAbi, bytes(toolAbi), 0);
        string memory signature = toolAbi;
        _skipBlanks(cursor);
        if (_peek(cursor) == "{") (signature, outputType) = _readElement(cursor);
        else outputType = _readReturns(cursor);
        IERCAgentTool.ParamDescription[] memory params;
        (selector,, params) = ToolSignature.read(signature);
        input.paramDescriptions = new IERCAgentToolV1.ParamDescription[](params.length);
        for (uint256 i = 0; i < params.length; i++) {
            input.paramDescriptions[i] = IERCAgentToolV1.ParamDescription(
                IERCAgentToolV1.ParamType(uint8(params[i].paramType)), params[i].name, params[i].description
            );
        }
    }

    // ---- In words

    /// @dev The types between the last parentheses, if the word `returns` is before them.
    function _readReturns(Cursor memory cursor) private pure returns (string memory) {
        bytes memory text = cursor.text;
        while (cursor.place < text.length && text[cursor.place] != ")") cursor.place++;
        uint256 word = cursor.place + 1;
        for (; word + 7 <= text.length; word++) {
            if (keccak256(bytes(_slice(text, word, word + 7))) == keccak256("returns")) break;
        }
        if (word + 7 > text.length) return "";
        cursor.place = word + 7;
        _skipBlanks(cursor);
        _expect(cursor, "(");
        string memory types;
        uint256 count;
        while (true) {
            _skipBlanks(cursor);
            uint256 start = cursor.place;
            while (_isTypeSign(_peek(cursor))) cursor.place++;
            if (cursor.place == start) _refuse(cursor);
            types = string.concat(types, count == 0 ? "" : ",", _canonical(_slice(text, start, cursor.place)));
            count++;
            while (_peek(cursor) != "," && _peek(cursor) != ")") {
                if (cursor.place >= text.length || _peek(cursor) == "(") _refuse(cursor);
                cursor.place++; // `memory`, and the name
            }
            if (text[cursor.place++] == ")") break;
        }
        return count == 1 ? types : string.concat("(", types, ")");
    }

    // ---- JSON

    function _readElement(Cursor memory cursor)
        private
        pure
        returns (string memory signature, string memory outputType)
    {
        Element memory element;
        _expect(cursor, "{");
        do {
            string memory key = _readKey(cursor);
            if (_same(key, "name")) {
                element.name = _readText(cursor);
                element.hasName = true;
            } else if (_same(key, "type")) {
                if (!_same(_readText(cursor), "function")) _refuse(cursor);
            } else if (_same(key, "inputs")) {
                (element.inputs,) = _readParameters(cursor, true);
                element.hasInputs = true;
            } else if (_same(key, "outputs")) {
                uint256 count;
                (element.outputs, count) = _readParameters(cursor, false);
                if (count > 1) element.outputs = string.concat("(", element.outputs, ")");
            } else {
                _skipValue(cursor);
            }
        } while (_goesOn(cursor, "}"));
        _skipBlanks(cursor);
        if (cursor.place < cursor.text.length || !element.hasName || !element.hasInputs) _refuse(cursor);
        return (string.concat(element.name, "(", element.inputs, ")"), element.outputs);
    }

    /// @dev Parameters with their names, or their types alone.
    function _readParameters(Cursor memory cursor, bool isNamed)
        private
        pure
        returns (string memory parameters, uint256 count)
    {
        _skipBlanks(cursor);
        _expect(cursor, "[");
        _skipBlanks(cursor);
        if (_peek(cursor) == "]") {
            cursor.place++;
            return ("", 0);
        }
        do {
            (string memory kind, string memory name) = _readParameter(cursor);
            if (!isNamed) kind = _canonical(kind);
            else if (bytes(name).length != 0) kind = string.concat(kind, " ", name);
            parameters = string.concat(parameters, count == 0 ? "" : ",", kind);
            count++;
        } while (_goesOn(cursor, "]"));
    }

    function _readParameter(Cursor memory cursor) private pure returns (string memory kind, string memory name) {
        _skipBlanks(cursor);
        _expect(cursor, "{");
        do {
            string memory key = _readKey(cursor);
            if (_same(key, "type")) kind = _readText(cursor);
            else if (_same(key, "name")) name = _readText(cursor);
            else _skipValue(cursor);
        } while (_goesOn(cursor, "}"));
        if (bytes(kind).length == 0) _refuse(cursor);
    }

    function _readKey(Cursor memory cursor) private pure returns (string memory key) {
        key = _readText(cursor);
        _skipBlanks(cursor);
        _expect(cursor, ":");
    }

    /// @dev A string of letters, digits and the signs of types: names and types have no others, so none can end early.
    function _readText(Cursor memory cursor) private pure returns (string memory text) {
        _skipBlanks(cursor);
        _expect(cursor, '"');
        uint256 start = cursor.place;
        while (_isTypeSign(_peek(cursor))) cursor.place++;
        text = _slice(cursor.text, start, cursor.place);
        _expect(cursor, '"');
    }

    /// @dev Skips a value of any kind; strings in it may have escapes.
    function _skipValue(Cursor memory cursor) private pure {
        uint256 depth;
        bool isText;
        for (; cursor.place < cursor.text.length; cursor.place++) {
            bytes1 sign = cursor.text[cursor.place];
            if (isText) {
                if (sign == "\\") cursor.place++;
                else if (sign == '"') isText = false;
            } else if (sign == '"') {
                isText = true;
            } else if (sign == "{" || sign == "[") {
                depth++;
            } else if (sign == "}" || sign == "]" || sign == ",") {
                if (depth == 0) return;
                if (sign != ",") depth--;
            }
        }
        _refuse(cursor);
    }

    /// @dev Whether a comma follows; else the end has to.
    function _goesOn(Cursor memory cursor, bytes1 end) private pure returns (bool) {
        _skipBlanks(cursor);
        if (_peek(cursor) == ",") {
            cursor.place++;
            return true;
        }
        _expect(cursor, end);
        return false;
    }

    // ---- Signs

    function _canonical(string memory kind) private pure returns (string memory) {
        bytes memory text = bytes(kind);
        uint256 end = text.length >= 2 && text[text.length - 1] == "]" ? text.length - 2 : text.length;
        string memory base = _slice(text, 0, end);
        if (!_same(base, "uint") && !_same(base, "int")) return kind;
        return string.concat(base, "256", _slice(text, end, text.length));
    }

    function _isTypeSign(bytes1 sign) private pure returns (bool) {
        return (sign >= "a" && sign <= "z") || (sign >= "A" && sign <= "Z") || (sign >= "0" && sign <= "9")
            || sign == "_" || sign == "$" || sign == "[" || sign == "]";
    }

    function _skipBlanks(Cursor memory cursor) private pure {
        while (_peek(cursor) == " " || _peek(cursor) == "\n" || _peek(cursor) == "\t" || _peek(cursor) == "\r") {
            cursor.place++;
        }
    }

    function _expect(Cursor memory cursor, bytes1 sign) private pure {
        if (_peek(cursor) != sign) _refuse(cursor);
        cursor.place++;
    }

    /// @dev The byte at the cursor; zero at the end.
    function _peek(Cursor memory cursor) private pure returns (bytes1) {
        return cursor.place < cursor.text.length ? cursor.text[cursor.place] : bytes1(0);
    }

    function _refuse(Cursor memory cursor) private pure {
        revert MalformedToolAbi(cursor.source, cursor.place);
    }

    function _slice(bytes memory text, uint256 start, uint256 end) private pure returns (string memory) {
        bytes memory found = new bytes(end - start);
        for (uint256 i = start; i < end; i++) found[i - start] = text[i];
        return string(found);
    }

    function _same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }
}
