// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

/// @title Reads Solidity types in canonical form
library AbiTypes {
    /// @notice Not a type in canonical form, such as `(address,uint24)[]`, or a type over a limit.
    /// @param position the byte at which the type stops to be one
    error MalformedType(string abiType, uint256 position);

    /// @notice The kinds of types.
    enum Kind {
        UINT,
        INT,
        BOOL,
        ADDRESS,
        FIXED_BYTES,
        BYTES,
        STRING,
        ARRAY,
        FIXED_ARRAY,
        TUPLE
    }

    /// @notice A type as a tree.
    /// @param kind its kind
    /// @param size bits of an integer, bytes of `bytesN`, items of `T[k]`; else 0
    /// @param words the words that it has in the head of what is around it
    /// @param depth how many arrays and tuples are within each other; 0 for an elementary type
    /// @param isDynamic whether its head is an offset
    /// @param parts the members of a tuple, or the type of an array's items
    struct Type {
        Kind kind;
        uint256 size;
        uint256 words;
        uint256 depth;
        bool isDynamic;
        Type[] parts;
    }

    /// @dev A place in a type that is read.
    struct Cursor {
        bytes text;
        uint256 place;
    }

    /// @notice Arrays and tuples within each other.
    uint256 internal constant MAX_DEPTH = 16;

    /// @notice Characters of a type.
    uint256 internal constant MAX_TYPE_BYTES = 2_048;

    /// @notice Members of a tuple.
    uint256 internal constant MAX_MEMBERS = 64;

    /// @dev Words of a static type, which bounds `T[k][l]`.
    uint256 private constant MAX_WORDS = 65_536;

    /// @notice Reads a type in canonical form.
    function parse(string memory text) internal pure returns (Type memory parsed) {
        Cursor memory cursor = Cursor(bytes(text), 0);
        if (cursor.text.length > MAX_TYPE_BYTES) revert MalformedType(text, MAX_TYPE_BYTES);
        parsed = _parse(cursor, 0);
        if (cursor.place != cursor.text.length) revert MalformedType(text, cursor.place);
    }

    /// @notice Reads the types of a function's parameters, or of its outputs, as one tuple; `()` for none.
    function parseTuple(string memory text) internal pure returns (Type memory parsed) {
        if (keccak256(bytes(text)) == keccak256("()")) return Type(Kind.TUPLE, 0, 0, 1, false, new Type[](0));
        parsed = parse(text);
        if (parsed.kind != Kind.TUPLE) revert MalformedType(text, 0);
    }

    /// @notice Writes a type in canonical form.
    function nameOf(Type memory abiType) internal pure returns (string memory) {
        Kind kind = abiType.kind;
        if (kind == Kind.UINT) return string.concat("uint", Strings.toString(abiType.size));
        if (kind == Kind.INT) return string.concat("int", Strings.toString(abiType.size));
        if (kind == Kind.FIXED_BYTES) return string.concat("bytes", Strings.toString(abiType.size));
        if (kind == Kind.BOOL) return "bool";
        if (kind == Kind.ADDRESS) return "address";
        if (kind == Kind.BYTES) return "bytes";
        if (kind == Kind.STRING) return "string";
        if (kind == Kind.ARRAY) return string.concat(nameOf(abiType.parts[0]), "[]");
        if (kind == Kind.FIXED_ARRAY) {
            return string.concat(nameOf(abiType.parts[0]), "[", Strings.toString(abiType.size), "]");
        }
        string memory members = "";
        for (uint256 i = 0; i < abiType.parts.length; i++) {
            members = string.concat(members, i == 0 ? "" : ",", nameOf(abiType.parts[i]));
        }
        return string.concat("(", members, ")");
    }

    /// @notice Counts the values that a type has outside of arrays: one, or those of a tuple's members.
    function countLeaves(Type memory abiType) internal pure returns (uint256 count) {
        if (abiType.kind != Kind.TUPLE) return 1;
        for (uint256 i = 0; i < abiType.parts.length; i++) count += countLeaves(abiType.parts[i]);
    }

    /// @notice Writes the types of these values into a list, from a place on.
    /// @return next the place behind the last one
    function flatten(Type memory abiType, Type[] memory leaves, uint256 place) internal pure returns (uint256 next) {
        if (abiType.kind != Kind.TUPLE) {
            leaves[place] = abiType;
            return place + 1;
        }
        next = place;
        for (uint256 i = 0; i < abiType.parts.length; i++) next = flatten(abiType.parts[i], leaves, next);
    }

    function _parse(Cursor memory cursor, uint256 depth) private pure returns (Type memory parsed) {
        if (depth > MAX_DEPTH) revert MalformedType(string(cursor.text), cursor.place);
        parsed = _peek(cursor) == "(" ? _parseTuple(cursor, depth) : _parseElementary(cursor);
        while (_peek(cursor) == "[") parsed = _parseArray(cursor, parsed);
        if (parsed.depth > MAX_DEPTH) revert MalformedType(string(cursor.text), cursor.place);
    }

    function _parseTuple(Cursor memory cursor, uint256 depth) private pure returns (Type memory parsed) {
        Type[] memory members = new Type[](MAX_MEMBERS);
        parsed.kind = Kind.TUPLE;
        uint256 count = 0;
        bytes1 sign = "(";
        while (sign != ")") {
            cursor.place++;
            if (count == MAX_MEMBERS) revert MalformedType(string(cursor.text), cursor.place);
            Type memory member = _parse(cursor, depth + 1);
            members[count++] = member;
            parsed.words += member.words;
            if (member.isDynamic) parsed.isDynamic = true;
            if (member.depth > parsed.depth) parsed.depth = member.depth;
            sign = _peek(cursor);
            if (sign != "," && sign != ")") revert MalformedType(string(cursor.text), cursor.place);
        }
        cursor.place++;
        assembly ("memory-safe") {
            mstore(members, count)
        }
        parsed.parts = members;
        parsed.depth++;
        if (parsed.isDynamic) parsed.words = 1;
        if (parsed.words > MAX_WORDS) revert MalformedType(string(cursor.text), cursor.place);
    }

    function _parseArray(Cursor memory cursor, Type memory item) private pure returns (Type memory parsed) {
        if (item.depth == MAX_DEPTH) revert MalformedType(string(cursor.text), cursor.place);
        cursor.place++;
        parsed.size = _parseSize(cursor, 5);
        if (_peek(cursor) != "]") revert MalformedType(string(cursor.text), cursor.place);
        cursor.place++;
        parsed.kind = parsed.size == 0 ? Kind.ARRAY : Kind.FIXED_ARRAY;
        parsed.depth = item.depth + 1;
        parsed.isDynamic = parsed.size == 0 || item.isDynamic;
        parsed.words = parsed.isDynamic ? 1 : parsed.size * item.words;
        parsed.parts = new Type[](1);
        parsed.parts[0] = item;
        if (parsed.words > MAX_WORDS) revert MalformedType(string(cursor.text), cursor.place);
    }

    function _parseElementary(Cursor memory cursor) private pure returns (Type memory parsed) {
        uint256 start = cursor.place;
        bytes32 word;
        for (uint256 i = 0; i < 8 && _peek(cursor) >= "a" && _peek(cursor) <= "z"; i++) {
            word |= bytes32(_peek(cursor)) >> (8 * i);
            cursor.place++;
        }
        uint256 digits = cursor.place;
        parsed.size = _parseSize(cursor, 3);
        bool isSized = cursor.place != digits;
        bool isInteger = word == "uint" || word == "int";
        if (isInteger) parsed.kind = word == "uint" ? Kind.UINT : Kind.INT;
        else if (word == "bytes") parsed.kind = isSized ? Kind.FIXED_BYTES : Kind.BYTES;
        else if (word == "bool") parsed.kind = Kind.BOOL;
        else if (word == "address") parsed.kind = Kind.ADDRESS;
        else if (word == "string") parsed.kind = Kind.STRING;
        else revert MalformedType(string(cursor.text), start);
        bool fits = isInteger
            ? isSized && parsed.size % 8 == 0 && parsed.size <= 256
            : parsed.kind == Kind.FIXED_BYTES ? parsed.size <= 32 : !isSized;
        if (!fits) revert MalformedType(string(cursor.text), digits);
        parsed.isDynamic = parsed.kind == Kind.BYTES || parsed.kind == Kind.STRING;
        parsed.words = 1;
    }

    /// @dev Returns 0 where no digit is. A leading zero is malformed.
    function _parseSize(Cursor memory cursor, uint256 mostDigits) private pure returns (uint256 size) {
        if (_peek(cursor) == "0") revert MalformedType(string(cursor.text), cursor.place);
        for (uint256 i = 0; i < mostDigits && _peek(cursor) >= "0" && _peek(cursor) <= "9"; i++) {
            size = size * 10 + uint8(_peek(cursor)) - 48;
            cursor.place++;
        }
    }

    /// @dev The byte at the cursor; zero at the end.
    function _peek(Cursor memory cursor) private pure returns (bytes1) {
        return cursor.place < cursor.text.length ? cursor.text[cursor.place] : bytes1(0);
    }
}
