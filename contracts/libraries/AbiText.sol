// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {AbiTypes} from "./AbiTypes.sol";

/// @title Writes values of any Solidity type as text, and reads them from it
/// @notice The typed texts of the executor, which a parameter's description asks for by `[abi:TYPE]`:
///   - `uintN`, `intN`: decimals without leading zeros; `bool`: `true` or `false`; `address`: `0x` and 40 digits;
///   - `bytesN`, `bytes`: two lower-case hexadecimal digits a byte, without `0x`;
///   - `string`: in single quotes, with `\'`, `\\`, `\n`, `\r` and `\t`, and without other control characters;
///   - `T[]`, `T[k]`: `[a, b]`; tuples: `(a, b)`. One comma and one space between two values.
/// @dev Values, texts and data of every kind end in a result or in a typed error. Recursion ends at MAX_DEPTH, and
///   texts that are written end at a limit, so data whose offsets point to the same place cost no more than others.
library AbiText {
    /// @notice The text has not the form of its type.
    /// @param abiType the type that was expected at the position
    /// @param position the byte of the text
    /// @param reason what should be there
    error MalformedText(string abiType, uint256 position, string reason);

    /// @notice The data do not encode a value of the type.
    error MalformedData(string abiType);

    /// @notice The text of a value is longer than MAX_TEXT_BYTES.
    error TextTooLong(string abiType, uint256 limit);

    /// @notice An integer is outside of its type or of the bounds of its parameter.
    error ValueOutOfRange(string parameter, uint256 value, uint256 least, uint256 most);

    /// @notice A signed integer is outside of its type or of the bounds of its parameter.
    error SignedValueOutOfRange(string parameter, int256 value, int256 least, int256 most);

    /// @notice An address is not in the list of those that its parameter may have.
    error AddressNotAllowed(string parameter, address value);

    /// @notice An address is no recipient: what would be sent there would be lost.
    error ForbiddenRecipient(string parameter, address value);

    /// @notice What the values of a parameter may be, in addition to what its type admits.
    /// @param isBounded whether `least` and `most` apply, to every integer of the parameter
    /// @param least the least value, as two's complement for signed integers
    /// @param most the greatest value
    /// @param allowed if not empty, the only addresses that the parameter may have
    /// @param forbidden for a recipient, addresses that it may not have, such as a token's contract and address zero
    struct Limits {
        bool isBounded;
        uint256 least;
        uint256 most;
        address[] allowed;
        address[] forbidden;
    }

    /// @dev A place in a text that is read.
    struct Cursor {
        bytes text;
        uint256 place;
        string parameter;
        Limits limits;
    }

    /// @dev A text of bounded length that is written.
    struct Writer {
        bytes text;
        uint256 length;
        bool isFull;
        bool isMalformed;
    }

    /// @notice Items of an array in a text that is read. The executor generates no more.
    uint256 internal constant MAX_ITEMS = 64;

    /// @notice Bytes of a text that `decode` returns.
    uint256 internal constant MAX_TEXT_BYTES = 4_096;

    bytes16 private constant DIGITS = "0123456789abcdef";

    // -- text to data -- //

    /// @notice Encodes the value in a text, as `abi.encode` does with a single value.
    function encode(string memory abiType, string memory text) internal pure returns (bytes memory data) {
        AbiTypes.Type memory parsed = AbiTypes.parse(abiType);
        Limits memory none;
        data = encodeBody(parsed, text, "", none);
        return parsed.isDynamic ? bytes.concat(bytes32(uint256(32)), data) : data;
    }

    /// @notice Encodes the value in a text, without the offset that a dynamic type has in front.
    /// @param parameter a name for errors
    /// @param limits what integers and addresses in the text may be
    function encodeBody(
        AbiTypes.Type memory abiType,
        string memory text,
        string memory parameter,
        Limits memory limits
    ) internal pure returns (bytes memory body) {
        Cursor memory cursor = Cursor(bytes(text), 0, parameter, limits);
        body = _encode(abiType, cursor);
        if (cursor.place != cursor.text.length) _refuse(abiType, cursor.place, "the end");
    }

    /// @notice Joins encoded values as the ABI does: heads, then tails.
    /// @param parts the bodies of the values
    /// @param types their types; one type for all of an array's items
    function join(bytes[] memory parts, AbiTypes.Type[] memory types) internal pure returns (bytes memory joined) {
        if (parts.length == 0) return "";
        uint256 head = 0;
        uint256 size = 0;
        for (uint256 i = 0; i < parts.length; i++) {
            size += parts[i].length;
            head += _typeAt(types, i).isDynamic ? 32 : parts[i].length;
            if (_typeAt(types, i).isDynamic) size += 32;
        }
        joined = new bytes(size);
        uint256 place = 0;
        for (uint256 i = 0; i < parts.length; i++) {
            if (_typeAt(types, i).isDynamic) {
                _copy(parts[i], joined, head);
                assembly ("memory-safe") {
                    mstore(add(add(joined, 32), place), head)
                }
                head += parts[i].length;
                place += 32;
            } else {
                _copy(parts[i], joined, place);
                place += parts[i].length;
            }
        }
    }

    /// @notice Refuses a word that is no value of an elementary type, or outside of a parameter's limits.
    function checkWord(AbiTypes.Type memory abiType, uint256 word, string memory parameter, Limits memory limits)
        internal
        pure
    {
        AbiTypes.Kind kind = abiType.kind;
        if (kind == AbiTypes.Kind.UINT) {
            _checkUnsigned(word, 0, type(uint256).max >> (256 - abiType.size), parameter);
            if (limits.isBounded) _checkUnsigned(word, limits.least, limits.most, parameter);
        } else if (kind == AbiTypes.Kind.INT) {
            int256 most = int256(type(uint256).max >> (257 - abiType.size));
            _checkSigned(int256(word), -most - 1, most, parameter);
            if (limits.isBounded) _checkSigned(int256(word), int256(limits.least), int256(limits.most), parameter);
        } else if (kind == AbiTypes.Kind.BOOL) {
            _checkUnsigned(word, 0, 1, parameter);
        } else if (kind == AbiTypes.Kind.ADDRESS) {
            _checkUnsigned(word, 0, type(uint160).max, parameter);
            _checkAllowed(address(uint160(word)), parameter, limits.allowed);
            requireRecipient(address(uint160(word)), parameter, limits.forbidden);
        }
    }

    /// @notice Refuses a recipient that is one of some addresses.
    function requireRecipient(address value, string memory parameter, address[] memory forbidden) internal pure {
        for (uint256 i = 0; i < forbidden.length; i++) {
            if (forbidden[i] == value) revert ForbiddenRecipient(parameter, value);
        }
    }

    function _checkUnsigned(uint256 value, uint256 least, uint256 most, string memory parameter) private pure {
        if (value < least || value > most) revert ValueOutOfRange(parameter, value, least, most);
    }

    function _checkSigned(int256 value, int256 least, int256 most, string memory parameter) private pure {
        if (value < least || value > most) revert SignedValueOutOfRange(parameter, value, least, most);
    }

    function _checkAllowed(address value, string memory parameter, address[] memory allowed) private pure {
        if (allowed.length == 0) return;
        for (uint256 i = 0; i < allowed.length; i++) {
            if (allowed[i] == value) return;
        }
        revert AddressNotAllowed(parameter, value);
    }

    function _encode(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (bytes memory) {
        AbiTypes.Kind kind = abiType.kind;
        if (kind == AbiTypes.Kind.TUPLE) {
            bytes[] memory members = _encodeValues(abiType, cursor, abiType.parts.length);
            _expect(abiType, cursor, ")");
            return join(members, abiType.parts);
        }
        if (kind == AbiTypes.Kind.FIXED_ARRAY) {
            bytes[] memory items = _encodeValues(abiType, cursor, abiType.size);
            _expect(abiType, cursor, "]");
            return join(items, abiType.parts);
        }
        if (kind == AbiTypes.Kind.ARRAY) return _encodeArray(abiType, cursor);
        if (kind == AbiTypes.Kind.BYTES) return _encodeBytes(abiType, cursor);
        if (kind == AbiTypes.Kind.STRING) return _encodeString(abiType, cursor);
        uint256 word = _readWord(abiType, cursor);
        checkWord(abiType, word, cursor.parameter, cursor.limits);
        return abi.encode(word);
    }

    /// @dev Encodes the members of a tuple, or the items of an array of known size, but for the closing sign.
    function _encodeValues(AbiTypes.Type memory abiType, Cursor memory cursor, uint256 count)
        private
        pure
        returns (bytes[] memory values)
    {
        // Each value needs a comma before it, so a text bounds the memory that a type can ask for.
        if (count > cursor.text.length) _refuse(abiType, cursor.place, "more values");
        values = new bytes[](count);
        for (uint256 i = 0; i < count; i++) {
            bytes2 first = abiType.kind == AbiTypes.Kind.TUPLE ? bytes2("(") : bytes2("[");
            _expect(abiType, cursor, i == 0 ? first : bytes2(", "));
            values[i] = _encode(_typeAt(abiType.parts, i), cursor);
        }
    }

    function _encodeArray(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (bytes memory) {
        bytes[] memory items = new bytes[](MAX_ITEMS);
        uint256 count = 0;
        _expect(abiType, cursor, "[");
        if (_peek(cursor) != "]") {
            do {
                if (count == MAX_ITEMS) _refuse(abiType, cursor.place, "at most 64 items");
                if (count > 0) _expect(abiType, cursor, ", ");
                items[count++] = _encode(abiType.parts[0], cursor);
            } while (_peek(cursor) == ",");
        }
        _expect(abiType, cursor, "]");
        assembly ("memory-safe") {
            mstore(items, count)
        }
        return bytes.concat(bytes32(count), join(items, abiType.parts));
    }

    function _encodeBytes(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (bytes memory) {
        uint256 start = cursor.place;
        while (_isHexadecimal(_peek(cursor))) cursor.place++;
        uint256 digits = cursor.place - start;
        if (digits % 2 != 0) _refuse(abiType, cursor.place, "two hexadecimal digits a byte");
        bytes memory value = new bytes(digits / 2);
        for (uint256 i = 0; i < value.length; i++) {
            uint256 place = start + 2 * i;
            value[i] = bytes1(_hexadecimal(cursor.text[place]) * 16 + _hexadecimal(cursor.text[place + 1]));
        }
        return encodeBytes(value);
    }

    /// @notice Encodes bytes or a string without the offset: its length, and its bytes with zeros up to a whole word.
    function encodeBytes(bytes memory value) internal pure returns (bytes memory body) {
        body = new bytes(32 + (value.length + 31) / 32 * 32);
        _copy(value, body, 32);
        assembly ("memory-safe") {
            mstore(add(body, 32), mload(value))
        }
    }

    function _encodeString(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (bytes memory) {
        _expect(abiType, cursor, "'");
        bytes memory value = new bytes(cursor.text.length - cursor.place);
        uint256 length = 0;
        while (cursor.place < cursor.text.length && cursor.text[cursor.place] != "'") {
            bytes1 sign = cursor.text[cursor.place];
            if (_controlSize(cursor.text, cursor.place, cursor.text.length) != 0) {
                _refuse(abiType, cursor.place, "no control character");
            }
            cursor.place++;
            if (sign == "\\") sign = _readEscape(abiType, cursor);
            value[length++] = sign;
        }
        _expect(abiType, cursor, "'");
        assembly ("memory-safe") {
            mstore(value, length)
        }
        return encodeBytes(value);
    }

    function _readEscape(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (bytes1 sign) {
        sign = _peek(cursor);
        if (sign == "n") sign = "\n";
        else if (sign == "r") sign = "\r";
        else if (sign == "t") sign = "\t";
        else if (sign != "'" && sign != "\\") _refuse(abiType, cursor.place, "an escape: ' \\ n r t");
        cursor.place++;
    }

    function _readWord(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (uint256) {
        AbiTypes.Kind kind = abiType.kind;
        if (kind == AbiTypes.Kind.UINT) return _readDecimal(abiType, cursor);
        if (kind == AbiTypes.Kind.INT) return _readSigned(abiType, cursor);
        if (kind == AbiTypes.Kind.BOOL) {
            if (_peek(cursor) == "t") {
                _expect(abiType, cursor, "true");
                return 1;
            }
            _expect(abiType, cursor, "false");
            return 0;
        }
        if (kind == AbiTypes.Kind.ADDRESS) return _readAddress(abiType, cursor);
        uint256 word = 0;
        for (uint256 i = 0; i < 2 * abiType.size; i++) {
            if (!_isHexadecimal(_peek(cursor))) {
                _refuse(abiType, cursor.place, "a lower-case hexadecimal digit");
            }
            word = word << 4 | _hexadecimal(_peek(cursor));
            cursor.place++;
        }
        return word << (256 - 8 * abiType.size);
    }

    function _readDecimal(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (uint256 value) {
        uint256 start = cursor.place;
        while (_isDigit(_peek(cursor))) {
            if (cursor.place > start && value == 0) _refuse(abiType, start, "no leading zero");
            uint256 digit = uint8(_peek(cursor)) - 48;
            if (value > (type(uint256).max - digit) / 10) {
                _refuse(abiType, start, "a number in the range of the type");
            }
            value = value * 10 + digit;
            cursor.place++;
        }
        if (cursor.place == start) _refuse(abiType, start, "a whole number");
    }

    function _readSigned(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (uint256) {
        uint256 start = cursor.place;
        bool isNegative = _peek(cursor) == "-";
        if (isNegative) cursor.place++;
        uint256 value = _readDecimal(abiType, cursor);
        if (value > uint256(type(int256).max) + (isNegative ? 1 : 0) || (isNegative && value == 0)) {
            _refuse(abiType, start, "a number in the range of the type");
        }
        unchecked {
            return isNegative ? 0 - value : value;
        }
    }

    /// @dev Digits of both cases are a checksum (EIP-55), which must be right.
    function _readAddress(AbiTypes.Type memory abiType, Cursor memory cursor) private pure returns (uint256) {
        uint256 start = cursor.place;
        if (start + 42 > cursor.text.length) _refuse(abiType, start, "0x and 40 hexadecimal digits");
        bytes memory digits = new bytes(42);
        for (uint256 i = 0; i < 42; i++) digits[i] = cursor.text[start + i];
        (bool isAddress, address value) = Strings.tryParseAddress(string(digits));
        if (!isAddress || digits[1] != "x") {
            _refuse(abiType, start, "0x and 40 hexadecimal digits");
        }
        bool hasUpper = false;
        bool hasLower = false;
        for (uint256 i = 2; i < 42; i++) {
            if (digits[i] >= "a") hasLower = true;
            else if (digits[i] >= "A") hasUpper = true;
        }
        if (hasUpper && hasLower && keccak256(digits) != keccak256(bytes(Strings.toChecksumHexString(value)))) {
            _refuse(abiType, start, "a right checksum");
        }
        cursor.place = start + 42;
        return uint160(value);
    }

    function _refuse(AbiTypes.Type memory abiType, uint256 place, string memory reason) private pure {
        revert MalformedText(AbiTypes.nameOf(abiType), place, reason);
    }

    /// @dev Reads signs, of which the first zero byte ends the list.
    function _expect(AbiTypes.Type memory abiType, Cursor memory cursor, bytes5 signs) private pure {
        for (uint256 i = 0; i < 5 && signs[i] != 0; i++) {
            if (_peek(cursor) != signs[i]) {
                _refuse(abiType, cursor.place, string(abi.encodePacked(signs[i])));
            }
            cursor.place++;
        }
    }

    // -- data to text -- //

    /// @notice Writes the text of a value.
    /// @param data the value as `abi.encode` encodes a single one. In a string, `?` replaces control characters that
    ///   have no escape, and bytes that are not UTF-8.
    function decode(string memory abiType, bytes memory data) internal pure returns (string memory) {
        AbiTypes.Type memory parsed = AbiTypes.parse(abiType);
        Writer memory writer = open(MAX_TEXT_BYTES);
        write(parsed, data, parsed.isDynamic ? offsetAt(data, 0, 0, writer) : 0, writer);
        if (writer.isMalformed) revert MalformedData(abiType);
        if (writer.isFull) revert TextTooLong(abiType, MAX_TEXT_BYTES);
        return close(writer);
    }

    /// @notice Begins a text of so many bytes at most.
    function open(uint256 limit) internal pure returns (Writer memory writer) {
        writer.text = new bytes(limit);
    }

    /// @notice Ends a text. The last bytes of one that is full become `...`.
    function close(Writer memory writer) internal pure returns (string memory) {
        bytes memory text = writer.text;
        uint256 length = writer.length;
        if (writer.isFull) {
            length = text.length - 3;
            while (length > 0 && text[length] & 0xC0 == 0x80) length--; // whole characters alone
            text[length] = text[length + 1] = text[length + 2] = ".";
            length += 3;
        }
        assembly ("memory-safe") {
            mstore(text, length)
        }
        return string(text);
    }

    /// @notice Adds text that has no control characters.
    function put(Writer memory writer, string memory piece) internal pure {
        bytes memory text = writer.text;
        uint256 start = writer.length;
        uint256 size = bytes(piece).length;
        if (size > text.length - start) {
            size = text.length - start;
            writer.isFull = true;
        }
        assembly ("memory-safe") {
            mcopy(add(add(text, 32), start), add(piece, 32), size)
        }
        writer.length = start + size;
    }

    /// @notice Adds the text of a value whose encoding begins at a place of the data.
    function write(AbiTypes.Type memory abiType, bytes memory data, uint256 place, Writer memory writer) internal pure {
        AbiTypes.Kind kind = abiType.kind;
        if (kind == AbiTypes.Kind.TUPLE) {
            _writeValues(abiType, data, place, abiType.parts.length, writer);
        } else if (kind == AbiTypes.Kind.FIXED_ARRAY) {
            _writeValues(abiType, data, place, abiType.size, writer);
        } else if (kind == AbiTypes.Kind.ARRAY) {
            uint256 count = wordAt(data, place, writer);
            // Each item has a word of its own, so a longer list is malformed.
            if (count > data.length / 32) writer.isMalformed = true;
            else _writeValues(abiType, data, place + 32, count, writer);
        } else if (kind == AbiTypes.Kind.BYTES || kind == AbiTypes.Kind.STRING) {
            uint256 length = wordAt(data, place, writer);
            if (writer.isMalformed || length > data.length - place - 32) writer.isMalformed = true;
            else if (kind == AbiTypes.Kind.BYTES) _writeBytes(data, place + 32, length, writer);
            else _writeString(data, place + 32, length, writer);
        } else {
            uint256 value = wordAt(data, place, writer);
            if (!isValue(abiType, value)) writer.isMalformed = true;
            if (!writer.isMalformed) _writeWord(abiType, value, writer);
        }
    }

    /// @notice Reads the place of a dynamic value: an offset at a place, from the start of what is around it.
    function offsetAt(bytes memory data, uint256 start, uint256 place, Writer memory writer)
        internal
        pure
        returns (uint256)
    {
        uint256 found = wordAt(data, place, writer);
        if (found <= data.length) return start + found;
        writer.isMalformed = true;
        return 0;
    }

    /// @notice Reads a word of the data. Past their end it is zero, and the writer learns that they are malformed.
    function wordAt(bytes memory data, uint256 place, Writer memory writer) internal pure returns (uint256 value) {
        if (data.length < 32 || place > data.length - 32) {
            writer.isMalformed = true;
            return 0;
        }
        assembly ("memory-safe") {
            value := mload(add(add(data, 32), place))
        }
    }

    function _writeValues(
        AbiTypes.Type memory abiType,
        bytes memory data,
        uint256 start,
        uint256 count,
        Writer memory writer
    ) private pure {
        bool isTuple = abiType.kind == AbiTypes.Kind.TUPLE;
        put(writer, isTuple ? "(" : "[");
        uint256 head = start;
        for (uint256 i = 0; i < count && !writer.isFull && !writer.isMalformed; i++) {
            if (i > 0) put(writer, ", ");
            AbiTypes.Type memory part = _typeAt(abiType.parts, i);
            write(part, data, part.isDynamic ? offsetAt(data, start, head, writer) : head, writer);
            head += 32 * part.words;
        }
        put(writer, isTuple ? ")" : "]");
    }

    function _writeWord(AbiTypes.Type memory abiType, uint256 value, Writer memory writer) private pure {
        AbiTypes.Kind kind = abiType.kind;
        if (kind == AbiTypes.Kind.UINT) {
            put(writer, Strings.toString(value));
        } else if (kind == AbiTypes.Kind.INT) {
            put(writer, Strings.toStringSigned(int256(value)));
        } else if (kind == AbiTypes.Kind.BOOL) {
            put(writer, value == 1 ? "true" : "false");
        } else if (kind == AbiTypes.Kind.ADDRESS) {
            put(writer, Strings.toChecksumHexString(address(uint160(value))));
        } else {
            _writeBytes(abi.encode(value), 0, abiType.size, writer);
        }
    }

    function _writeBytes(bytes memory data, uint256 place, uint256 length, Writer memory writer) private pure {
        for (uint256 i = place; i < place + length && !writer.isFull; i++) {
            _putByte(writer, DIGITS[uint8(data[i]) >> 4]);
            _putByte(writer, DIGITS[uint8(data[i]) & 15]);
        }
    }

    function _writeString(bytes memory data, uint256 place, uint256 length, Writer memory writer) private pure {
        uint256 end = place + length;
        _putByte(writer, "'");
        while (place < end && !writer.isFull) {
            bytes1 sign = data[place];
            uint256 size = _characterSize(data, place, end);
            uint256 controlSize = _controlSize(data, place, end);
            if (sign == "'" || sign == "\\" || sign == "\n" || sign == "\r" || sign == "\t") {
                _putByte(writer, "\\");
                if (sign == "\n") sign = "n";
                else if (sign == "\r") sign = "r";
                else if (sign == "\t") sign = "t";
                _putByte(writer, sign);
            } else if (size == 0 || controlSize != 0) {
                _putByte(writer, "?");
            } else {
                for (uint256 i = 0; i < size; i++) _putByte(writer, data[place + i]);
            }
            place += size == 0 ? 1 : size;
        }
        _putByte(writer, "'");
    }

    function _putByte(Writer memory writer, bytes1 value) private pure {
        if (writer.length == writer.text.length) writer.isFull = true;
        else writer.text[writer.length++] = value;
    }

    /// @notice Whether a word is a value of an elementary type of one word.
    function isValue(AbiTypes.Type memory abiType, uint256 value) internal pure returns (bool) {
        AbiTypes.Kind kind = abiType.kind;
        if (kind == AbiTypes.Kind.UINT) return value <= type(uint256).max >> (256 - abiType.size);
        if (kind == AbiTypes.Kind.INT) {
            int256 most = int256(type(uint256).max >> (257 - abiType.size));
            return int256(value) <= most && int256(value) >= -most - 1;
        }
        if (kind == AbiTypes.Kind.BOOL) return value <= 1;
        if (kind == AbiTypes.Kind.ADDRESS) return value <= type(uint160).max;
        return abiType.size == 32 || value << (8 * abiType.size) == 0;
    }

    // -- characters -- //

    /// @dev The bytes of the control character at a place: C0, DEL, C1, and the line and paragraph separators of
    ///   Unicode; 0 if none is there. Source: precompiles/escaping.py.
    function _controlSize(bytes memory text, uint256 place, uint256 end) private pure returns (uint256) {
        uint8 sign = uint8(text[place]);
        if (sign < 0x20 || sign == 0x7F) return 1;
        if (sign == 0xC2 && place + 1 < end && uint8(text[place + 1]) < 0xA0) return 2;
        bool isSeparator = sign == 0xE2 && place + 2 < end && text[place + 1] == 0x80 && text[place + 2] & 0xFE == 0xA8;
        return isSeparator ? 3 : 0;
    }

    /// @dev The bytes of the character at a place, 1 to 4; 0 if it is not UTF-8. Source: RFC 3629, section 4.
    function _characterSize(bytes memory text, uint256 place, uint256 end) private pure returns (uint256 size) {
        uint8 first = uint8(text[place]);
        if (first < 0x80) return 1;
        if (first < 0xC2 || first > 0xF4) return 0;
        size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        if (size > end - place) return 0;
        uint8 second = uint8(text[place + 1]);
        uint8 least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        uint8 most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        if (second < least || second > most) return 0;
        for (uint256 i = 2; i < size; i++) {
            if (text[place + i] & 0xC0 != 0x80) return 0;
        }
    }

    function _isDigit(bytes1 sign) private pure returns (bool) {
        return sign >= "0" && sign <= "9";
    }

    function _isHexadecimal(bytes1 sign) private pure returns (bool) {
        return _isDigit(sign) || (sign >= "a" && sign <= "f");
    }

    function _hexadecimal(bytes1 digit) private pure returns (uint8) {
        return uint8(digit) - (_isDigit(digit) ? 48 : 87);
    }

    // -- memory -- //

    /// @dev The byte at the cursor; zero at the end.
    function _peek(Cursor memory cursor) private pure returns (bytes1) {
        return cursor.place < cursor.text.length ? cursor.text[cursor.place] : bytes1(0);
    }

    function _typeAt(AbiTypes.Type[] memory types, uint256 i) private pure returns (AbiTypes.Type memory) {
        return types.length == 1 ? types[0] : types[i];
    }

    function _copy(bytes memory from, bytes memory to, uint256 place) private pure {
        assembly ("memory-safe") {
            mcopy(add(add(to, 32), place), add(from, 32), mload(from))
        }
    }
}
