// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Makes texts of others fit for a quotation of one line
library QuotedText {
    /// @notice A text is empty or too long. Sizes are in bytes.
    error WrongTextSize(uint256 size, uint256 limit);

    /// @notice Returns a text as data: quotation marks become `'`, bytes below a space become spaces, and the `x` of `0x`
    ///   becomes `*`, since the executor's models can't copy addresses as text.
    function quotable(string memory text, uint256 limit) internal pure returns (string memory) {
        bytes memory found = bytes(requireSize(text, limit));
        for (uint256 i = 0; i < found.length; i++) {
            if (found[i] < 0x20 || found[i] == 0x7f) found[i] = " ";
            else if (found[i] == '"') found[i] = "'";
            else if (i > 0 && found[i - 1] == "0" && found[i] | 0x20 == "x") found[i] = "*";
        }
        return text;
    }

    /// @notice Returns a text of 1 to `limit` bytes; reverts for others.
    function requireSize(string memory text, uint256 limit) internal pure returns (string memory) {
        uint256 size = bytes(text).length;
        if (size == 0 || size > limit) revert WrongTextSize(size, limit);
        return text;
    }
}
