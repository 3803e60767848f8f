// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Bytes} from "./Bytes.sol";

/// @title The addresses of one request, with the short handles that a model reads and says for them
/// @notice The rules are the precompile's (precompiles/address_handles.py): an address is `0x` and exactly 40 hex digits
///   without an alphanumeric neighbour and without a failing EIP-55 checksum; of base prompt, prompt and tool
///   results, in that order, the first 64 different ones have a handle: the name that a line `NAME = 0x…` of the
///   base prompt gives it, else `addr1`, `addr2`, …
library AddressBook {
    uint256 internal constant MAX_ADDRESSES = 64;
    uint256 internal constant MAX_HANDLE_CHARACTERS = 32;
    uint256 private constant ADDRESS_CHARACTERS = 42;

    /// @param count how many of the entries are used
    struct Book {
        uint256 count;
        address[] addresses;
        string[] handles;
    }

    /// @param isFound false where there is no further address
    /// @param position of its `0`
    struct Match {
        bool isFound;
        uint256 position;
        address value;
    }

    /// @notice Collects the addresses of a request.
    function collect(string memory basePrompt, string memory prompt, string[] memory toolResults)
        internal
        pure
        returns (Book memory book)
    {
        book.addresses = new address[](MAX_ADDRESSES);
        book.handles = new string[](MAX_ADDRESSES);
        _add(book, bytes(basePrompt));
        _add(book, bytes(prompt));
        for (uint256 i = 0; i < toolResults.length; i++) _add(book, bytes(toolResults[i]));
        _name(book, bytes(basePrompt));
    }

    /// @notice Returns the position of an address, `count` where the book doesn't have it.
    function indexOf(Book memory book, address value) internal pure returns (uint256 index) {
        while (index < book.count && book.addresses[index] != value) index++;
    }

    /// @notice Puts other texts in place of the addresses that the book has; others stay.
    /// @param names one for each address, in the book's order
    function substitute(Book memory book, string memory text, string[] memory names)
        internal
        pure
        returns (string memory)
    {
        return _substitute(book, text, names, false);
    }

    function _substitute(Book memory book, string memory text, string[] memory names, bool isJson)
        private
        pure
        returns (string memory)
    {
        bytes memory source = bytes(text);
        bytes memory written;
        uint256 done;
        Match memory found = _next(source, 0, isJson);
        while (found.isFound) {
            uint256 index = indexOf(book, found.value);
            if (index < book.count) {
                written = bytes.concat(written, Bytes.slice(source, done, found.position), bytes(names[index]));
                done = found.position + ADDRESS_CHARACTERS;
            }
            found = _next(source, found.position + ADDRESS_CHARACTERS, isJson);
        }
        return done == 0 ? text : string(bytes.concat(written, Bytes.slice(source, done, source.length)));
    }

    /// @notice Puts other texts in place of the addresses in an `agentReasoning`, also after an escape of JSON.
    function substituteInReasoning(Book memory book, string memory text, string[] memory names)
        internal
        pure
        returns (string memory)
    {
        return _substitute(book, text, names, true);
    }

    /// @notice Puts handles in place of addresses.
    function intern(Book memory book, string memory text) internal pure returns (string memory) {
        return substitute(book, text, book.handles);
    }

    /// @notice Puts checksummed addresses in place of the handles in a model's text.
    function expand(Book memory book, string memory text) internal pure returns (string memory) {
        bytes memory source = bytes(text);
        bytes memory written;
        uint256 done;
        for (uint256 start = 0; start < source.length;) {
            if (!Bytes.isAlphanumeric(source[start])) {
                start++;
                continue;
            }
            uint256 end = start + 1; // behind the word's last letter or digit
            for (uint256 i = end; i < source.length && _isInWord(source[i]); i++) {
                if (Bytes.isAlphanumeric(source[i])) end = i + 1;
            }
            uint256 index = _indexOfHandle(book, Bytes.slice(source, start, end));
            if (index < book.count) {
                bytes memory address_ = bytes(checksummed(book.addresses[index]));
                written = bytes.concat(written, Bytes.slice(source, done, start), address_);
                done = end;
            }
            start = end;
        }
        return done == 0 ? text : string(bytes.concat(written, Bytes.slice(source, done, source.length)));
    }

    /// @notice Returns the first address in a text from a position on.
    function next(bytes memory text, uint256 from) internal pure returns (Match memory) {
        return _next(text, from, false);
    }

    /// @param isJson true if the letter of an escape, such as the n of a line break, is no neighbour
    function _next(bytes memory text, uint256 from, bool isJson) private pure returns (Match memory) {
        for (uint256 position = from; position + ADDRESS_CHARACTERS <= text.length; position++) {
            position = Bytes.nextPrefix(text, position);
            if (position + ADDRESS_CHARACTERS > text.length) break;
            bool hasNeighbour = position > 0 && Bytes.isAlphanumeric(text[position - 1]);
            if (hasNeighbour && !(isJson && _isEscape(text, position - 1))) continue;
            uint256 end = position + ADDRESS_CHARACTERS;
            if (end < text.length && Bytes.isAlphanumeric(text[end])) continue;
            (bool isAddress, address value) = _parse(text, position + 2);
            if (isAddress) return Match(true, position, value);
        }
        return Match(false, 0, address(0));
    }

    /// @dev An odd number of backslashes stands before an escape's letter.
    function _isEscape(bytes memory text, uint256 letter) private pure returns (bool isEscape) {
        for (uint256 i = letter; i > 0 && text[i - 1] == "\\"; i--) isEscape = !isEscape;
    }

    /// @notice Writes an address with its EIP-55 checksum.
    function checksummed(address value) internal pure returns (string memory) {
        return string.concat("0x", string(_digits(value)));
    }

    function _digits(address value) private pure returns (bytes memory digits) {
        digits = new bytes(40);
        uint160 rest = uint160(value);
        for (uint256 i = 40; i > 0; i--) {
            uint8 digit = uint8(rest & 15);
            digits[i - 1] = bytes1(digit < 10 ? 48 + digit : 87 + digit);
            rest >>= 4;
        }
        uint256 hash = uint256(keccak256(digits)) >> 96;
        for (uint256 i = 40; i > 0; i--) {
            if (hash & 15 > 7 && uint8(digits[i - 1]) > 96) digits[i - 1] = bytes1(uint8(digits[i - 1]) - 32);
            hash >>= 4;
        }
    }

    function _parse(bytes memory text, uint256 start) private pure returns (bool, address) {
        uint160 value;
        bool hasLower;
        bool hasUpper;
        for (uint256 i = start; i < start + 40; i++) {
            uint8 digit = uint8(text[i]);
            if (digit >= 48 && digit <= 57) {
                digit -= 48;
            } else if (digit >= 97 && digit <= 102) {
                hasLower = true;
                digit -= 87;
            } else if (digit >= 65 && digit <= 70) {
                hasUpper = true;
                digit -= 55;
            } else {
                return (false, address(0));
            }
            value = (value << 4) | digit;
        }
        if (hasLower && hasUpper && keccak256(_digits(address(value))) != keccak256(Bytes.slice(text, start, start + 40)))
        {
            return (false, address(0));
        }
        return (true, address(value));
    }

    function _add(Book memory book, bytes memory text) private pure {
        Match memory found = next(text, 0);
        while (found.isFound && book.count < MAX_ADDRESSES) {
            if (indexOf(book, found.value) == book.count) book.addresses[book.count++] = found.value;
            found = next(text, found.position + ADDRESS_CHARACTERS);
        }
    }

    /// @dev First the names that lines of the base prompt give, then numbers for the others.
    function _name(Book memory book, bytes memory basePrompt) private pure {
        string[] memory taken = new string[](_countLines(basePrompt));
        uint256 takenCount;
        for (uint256 start = 0; start < basePrompt.length;) {
            uint256 end = start;
            while (end < basePrompt.length && basePrompt[end] != "\n") end++;
            (string memory name, address value) = _definition(Bytes.slice(basePrompt, start, end));
            start = end + 1;
            if (bytes(name).length == 0 || _isIn(taken, takenCount, name)) continue;
            // A second name of one address is taken, and nobody's handle.
            taken[takenCount++] = name;
            uint256 index = indexOf(book, value);
            if (index < book.count && bytes(book.handles[index]).length == 0) book.handles[index] = name;
        }
        uint256 number;
        for (uint256 i = 0; i < book.count; i++) {
            while (bytes(book.handles[i]).length == 0) {
                string memory name = string.concat("addr", Bytes.decimal(++number));
                if (_indexOfHandle(book, bytes(name)) == book.count) book.handles[i] = name;
            }
        }
    }

    /// @dev `NAME = 0x…`, with blanks where people put them. No name where the line is something else.
    function _definition(bytes memory line) private pure returns (string memory name, address value) {
        uint256 position = _afterBlanks(line, 0);
        uint256 start = position;
        while (position < line.length && _isInWord(line[position])) position++;
        bytes memory word = Bytes.slice(line, start, position);
        position = _afterBlanks(line, position);
        if (position == line.length || line[position] != "=") return ("", address(0));
        position = _afterBlanks(line, position + 1);
        Match memory found = next(line, position);
        if (!found.isFound || found.position != position || !_isName(word)) return ("", address(0));
        position = _afterBlanks(line, position + ADDRESS_CHARACTERS);
        if (position < line.length && line[position] == "\r") position++;
        return position == line.length ? (string(word), found.value) : ("", address(0));
    }

    function _isName(bytes memory word) private pure returns (bool hasLetter) {
        uint256 size = word.length;
        if (size == 0 || size > MAX_HANDLE_CHARACTERS || Bytes.hasPrefix(word)) return false;
        if (!Bytes.isAlphanumeric(word[0]) || !Bytes.isAlphanumeric(word[size - 1])) return false;
        if (Bytes.isJsonWord(word)) return false;
        for (uint256 i = 0; i < size; i++) {
            if (Bytes.isAlphanumeric(word[i]) && uint8(word[i]) > 57) hasLetter = true;
        }
    }

    function _afterBlanks(bytes memory line, uint256 position) private pure returns (uint256) {
        while (position < line.length && (line[position] == " " || line[position] == "\t")) position++;
        return position;
    }

    function _isInWord(bytes1 character) private pure returns (bool) {
        return Bytes.isAlphanumeric(character) || character == "_" || character == "." || character == "-";
    }

    function _indexOfHandle(Book memory book, bytes memory word) private pure returns (uint256 index) {
        while (index < book.count && !Bytes.equal(bytes(book.handles[index]), word)) index++;
    }

    function _isIn(string[] memory list, uint256 count, string memory text) private pure returns (bool) {
        for (uint256 i = 0; i < count; i++) {
            if (Bytes.equal(bytes(list[i]), bytes(text))) return true;
        }
        return false;
    }

    function _countLines(bytes memory text) private pure returns (uint256 count) {
        count = 1;
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] == "\n") count++;
        }
    }
}
