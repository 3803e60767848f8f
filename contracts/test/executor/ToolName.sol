// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title The names that tools and parameters may have
/// @notice The rules are the precompile's (precompiles/tool_metadata.py).
library ToolName {
    uint256 private constant MAX_NAME_BYTES = 64;
    uint256 private constant SPACE = 32;

    /// @notice Returns why the precompile refuses a name; nothing where it doesn't.
    function reason(bytes memory name) internal pure returns (string memory) {
        uint256 size = name.length;
        if (size == 0 || size > MAX_NAME_BYTES) return "a name must be of 1 to 64 bytes";
        uint256 read; // the last 32 letters in lower case
        bool hasHexadecimal;
        bool isHandle;
        for (uint256 i = 0; i < size; i++) {
            uint256 code = uint8(name[i]);
            bool isWordsEnd = read & 0xff == SPACE || i == 0 || i == size - 1;
            if (code < SPACE || code > 126 || (code == SPACE && isWordsEnd)) return "a name must be words in ASCII";
            if (code >= 65 && code <= 90) code += 32;
            bool isDigit = code >= 48 && code <= 57;
            if (read & 0xffff == 0x3078 && (isDigit || (code >= 97 && code <= 102))) hasHexadecimal = true;
            isHandle = isDigit && (isHandle || read == 0x61646472); // addr
            read = (read << 8) | code;
        }
        if (hasHexadecimal) return "a name must not have 0x and hex";
        bool isJsonWord = read == 0x74727565 || read == 0x66616c7365 || read == 0x6e756c6c; // true, false, null
        if (isHandle || isJsonWord) return "a name must not read as a value";
        return "";
    }

    /// @notice Returns a hash that is equal for names that look alike, such as `Pool1` and `Pooll`.
    function look(bytes memory name) internal pure returns (bytes32 hash) {
        for (uint256 i = 0; i < name.length; i++) {
            bytes1 letter = name[i];
            if (letter == "1" || letter == "I" || letter == "|") letter = "l";
            else if (letter == "0") letter = "O";
            else if (letter == "`") letter = "'";
            else if (letter == "m") (hash, letter) = (_with(hash, "r"), "n");
            else if (letter == '"') (hash, letter) = (_with(hash, "'"), "'");
            hash = _with(hash, letter);
        }
    }

    function _with(bytes32 hash, bytes1 letter) private pure returns (bytes32) {
        return keccak256(abi.encodePacked(hash, letter));
    }
}
