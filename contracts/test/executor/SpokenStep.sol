// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {AddressBook} from "./AddressBook.sol";
import {Bytes} from "./Bytes.sol";
import {ToolArguments} from "./ToolArguments.sol";

/// @title The words of a step, as a model can say them
/// @notice The rules are the precompile's grammar (precompiles/grammar.py). Every function returns the words, and a
///   reason where no model could say them; the reason is empty where one can. A thought and an answer are returned with
///   handles in place of addresses, arguments with addresses in place of handles.
library SpokenStep {
    using AddressBook for AddressBook.Book;

    uint256 private constant MAX_THOUGHT_CHARACTERS = 240;
    uint256 private constant MAX_TEXT_CHARACTERS = 1_024;
    uint256 private constant MAX_ITEMS = 64;

    function thought(AddressBook.Book memory book, string memory text)
        internal
        pure
        returns (string memory spoken, string memory reason)
    {
        return _free(book, text, MAX_THOUGHT_CHARACTERS);
    }

    function answer(AddressBook.Book memory book, string memory text)
        internal
        pure
        returns (string memory spoken, string memory reason)
    {
        return _free(book, text, MAX_TEXT_CHARACTERS);
    }

    /// @notice Writes a tool's arguments as JSON.
    /// @param values `abi.encode` of each
    /// @return json as in `agentReasoning`
    /// @return said the values as the precompile reads them off the words: handles in texts are addresses there
    /// @return reason empty where a model can say it
    function arguments(
        AddressBook.Book memory book,
        IERCAgentTool.ParamDescription[] memory parameters,
        bytes[] memory values
    ) internal pure returns (string memory json, bytes[] memory said, string memory reason) {
        said = new bytes[](values.length);
        json = "{";
        for (uint256 i = 0; i < values.length; i++) {
            string memory value;
            (value, said[i], reason) = _value(book, parameters[i].paramType, values[i]);
            if (bytes(reason).length != 0) return (json, said, string.concat(parameters[i].name, ": ", reason));
            string memory comma = i == 0 ? "" : ", ";
            json = string.concat(json, comma, _quoted(parameters[i].name), ": ", value);
        }
        json = string.concat(json, "}");
    }

    function _value(AddressBook.Book memory book, IERCAgentTool.ParamType paramType, bytes memory value)
        private
        pure
        returns (string memory json, bytes memory said, string memory reason)
    {
        if (paramType == IERCAgentTool.ParamType.STRING) {
            string memory text;
            (json, text, reason) = _string(book, abi.decode(value, (string)));
            return (json, abi.encode(text), reason);
        }
        if (paramType == IERCAgentTool.ParamType.STRING_ARRAY) return _strings(book, abi.decode(value, (string[])));
        if (!ToolArguments.isList(paramType)) {
            (json, reason) = _word(book, paramType, Bytes.word(value, 0));
            return (json, value, reason);
        }
        uint256[] memory words = abi.decode(value, (uint256[]));
        if (words.length > MAX_ITEMS) return ("", value, "more than 64 items");
        for (uint256 i = 0; i < words.length; i++) {
            string memory item;
            (item, reason) = _word(book, ToolArguments.itemType(paramType), words[i]);
            if (bytes(reason).length != 0) return ("", value, reason);
            json = string.concat(json, i == 0 ? "" : ", ", item);
        }
        return (string.concat("[", json, "]"), value, "");
    }

    function _word(AddressBook.Book memory book, IERCAgentTool.ParamType paramType, uint256 word)
        private
        pure
        returns (string memory json, string memory reason)
    {
        if (paramType == IERCAgentTool.ParamType.UINT) return (Bytes.decimal(word), "");
        if (paramType == IERCAgentTool.ParamType.INT) return (Bytes.decimal(int256(word)), "");
        if (paramType == IERCAgentTool.ParamType.BOOL) return (word == 0 ? "false" : "true", "");
        address value = address(uint160(word));
        uint256 index = book.indexOf(value);
        string memory shown = AddressBook.checksummed(value);
        if (index < book.count) return (_quoted(shown), "");
        return ("", string.concat(shown, " is in no text of the request: base prompt, prompt, tool results"));
    }

    function _strings(AddressBook.Book memory book, string[] memory texts)
        private
        pure
        returns (string memory json, bytes memory said, string memory reason)
    {
        if (texts.length > MAX_ITEMS) return ("", "", "more than 64 items");
        for (uint256 i = 0; i < texts.length; i++) {
            string memory item;
            (item, texts[i], reason) = _string(book, texts[i]);
            if (bytes(reason).length != 0) return ("", "", reason);
            json = string.concat(json, i == 0 ? "" : ", ", item);
        }
        return (string.concat("[", json, "]"), abi.encode(texts), "");
    }

    function _string(AddressBook.Book memory book, string memory text)
        private
        pure
        returns (string memory json, string memory said, string memory reason)
    {
        string memory spoken = book.intern(text);
        reason = _reason(bytes(spoken), MAX_TEXT_CHARACTERS, true);
        said = book.expand(spoken);
        json = _quoted(said);
    }

    function _free(AddressBook.Book memory book, string memory text, uint256 maxCharacters)
        private
        pure
        returns (string memory spoken, string memory reason)
    {
        spoken = book.intern(text);
        if (bytes(spoken).length == 0) return (spoken, "it is empty");
        if (bytes(spoken)[0] == " ") return (spoken, "it begins with a space");
        return (spoken, _reason(bytes(spoken), maxCharacters, false));
    }

    /// @dev Why no model can say a text; nothing where one can.
    function _reason(bytes memory text, uint256 maxCharacters, bool mayBreak) private pure returns (string memory) {
        uint256 characters;
        for (uint256 i = 0; i < text.length; i++) {
            uint8 code = uint8(text[i]);
            if (code & 0xc0 != 0x80) characters++; // not the continuation of a character in UTF-8
            bool isBreak = code == 9 || code == 10 || code == 13;
            if ((code < 32 && !(mayBreak && isBreak)) || code == 127 || _isControl(text, i)) {
                return "it has a control character";
            }
        }
        if (characters > maxCharacters) {
            return string.concat("it has more than ", Bytes.decimal(maxCharacters), " characters");
        }
        return Bytes.hasPrefix(text) ? "it has 0x, and not in an address of the request" : "";
    }

    /// @dev U+0080 to U+009F, U+2028 and U+2029.
    function _isControl(bytes memory text, uint256 position) private pure returns (bool) {
        if (position + 1 < text.length && text[position] == 0xc2) return uint8(text[position + 1]) < 0xa0;
        if (position + 2 >= text.length || text[position] != 0xe2 || text[position + 1] != 0x80) return false;
        return text[position + 2] == 0xa8 || text[position + 2] == 0xa9;
    }

    /// @dev A JSON string. Other control characters than these three are refused before.
    function _quoted(string memory text) private pure returns (string memory) {
        bytes memory source = bytes(text);
        bytes memory written;
        uint256 done;
        for (uint256 i = 0; i < source.length; i++) {
            bytes1 letter = source[i];
            if (letter == "\n") letter = "n";
            else if (letter == "\r") letter = "r";
            else if (letter == "\t") letter = "t";
            else if (letter != '"' && letter != "\\") continue;
            written = bytes.concat(written, Bytes.slice(source, done, i), "\\", letter);
            done = i + 1;
        }
        return string(bytes.concat('"', written, Bytes.slice(source, done, source.length), '"'));
    }
}
