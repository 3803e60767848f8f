// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Utf8} from "../retrieval/Utf8.sol";
import {LongAnswer} from "./LongAnswer.sol";

/// @title Answers of strangers as text in a prompt, and the verdict of a model on them
library CouncilText {
    /// @notice Returns an answer on one line between double quotes, of which it has none itself.
    /// @param limit bytes; the answer is cut between characters
    function quote(bytes memory answer, uint256 limit) internal pure returns (string memory) {
        if (LongAnswer.isLong(answer)) {
            (, string memory uri) = LongAnswer.decode(answer);
            return string.concat("kept at ", quote(bytes(uri), limit));
        }
        if (!Utf8.isValid(answer)) return "(no text)";
        uint256 size = Utf8.cut(answer, limit);
        bytes memory shown = new bytes(size);
        for (uint256 i = 0; i < size; i++) {
            bytes1 one = answer[i];
            shown[i] = one == '"' ? bytes1("'") : one < 0x20 || one == 0x7f ? bytes1(" ") : one;
        }
        _blankSeparators(shown);
        return string.concat('"', string(shown), size < answer.length ? '..."' : '"');
    }

    /// @notice Tells whether two answers are the same but for case, blanks and double quotes around them and a full stop.
    function isSame(bytes memory one, bytes memory other) internal pure returns (bool) {
        return keccak256(fold(one)) == keccak256(fold(other));
    }

    /// @notice Returns an answer in lower case, without blanks and double quotes around it and a full stop at its end.
    /// @dev A model that repeats an answer repeats the quotes in which the prompt shows it.
    function fold(bytes memory text) internal pure returns (bytes memory folded) {
        (uint256 start, uint256 end) = (0, text.length);
        while (start < end && (text[start] <= " " || text[start] == '"')) start++;
        while (end > start && (text[end - 1] <= " " || text[end - 1] == '"' || text[end - 1] == ".")) end--;
        folded = new bytes(end - start);
        for (uint256 i = start; i < end; i++) {
            bytes1 one = text[i];
            folded[i - start] = one >= "A" && one <= "Z" ? bytes1(uint8(one) + 32) : one;
        }
    }

    /// @notice Returns what an agent's tool found: of `Done. TOOL: RESULT` the result, else the text as it is.
    /// @dev The short format, precompiles/README.md, ends a run with tools by that answer. The results of several tools stay
    ///   together: `RESULT; TOOL: RESULT`.
    function resultOf(string memory said) internal pure returns (bytes memory result) {
        result = bytes(said);
        if (bytes6(result) != "Done. ") return result;
        for (uint256 i = 6; i + 1 < result.length; i++) {
            if (result[i] == ":" && result[i + 1] == " ") return _trimmed(result, i + 2);
            if (result[i] == " ") break; // no tool's name
        }
    }

    /// @notice Reads `1, 3: the final answer`: numbers of answers from 1 to `count`, and what follows the first colon.
    /// @return named a bit for each answer that is named; none if a number is out of range
    /// @return finalAnswer what follows the colon, without blanks around it; empty without a colon
    function readVerdict(bytes memory verdict, uint256 count)
        internal
        pure
        returns (uint256 named, bytes memory finalAnswer)
    {
        uint256 number = 0;
        for (uint256 i = 0; i <= verdict.length; i++) {
            bool isEnd = i == verdict.length || verdict[i] == ":";
            if (!isEnd && verdict[i] >= "0" && verdict[i] <= "9") {
                number = number * 10 + (uint8(verdict[i]) - 48);
                if (number > count) return (0, "");
                continue;
            }
            if (number > 0) named |= 1 << (number - 1);
            number = 0;
            if (isEnd) return (named, _trimmed(verdict, i + 1));
        }
    }

    function _trimmed(bytes memory text, uint256 start) private pure returns (bytes memory trimmed) {
        uint256 end = text.length;
        if (start >= end) return "";
        while (start < end && text[start] <= " ") start++;
        while (end > start && text[end - 1] <= " ") end--;
        trimmed = new bytes(end - start);
        for (uint256 i = start; i < end; i++) trimmed[i - start] = text[i];
    }

    /// @dev Blanks the line breaks that are not ASCII: U+0085, U+2028, U+2029.
    function _blankSeparators(bytes memory text) private pure {
        for (uint256 i = 1; i < text.length; i++) {
            if (text[i - 1] == 0xc2 && text[i] == 0x85) (text[i - 1], text[i]) = (" ", " ");
            if (i < 2 || text[i - 2] != 0xe2 || text[i - 1] != 0x80) continue;
            if (text[i] == 0xa8 || text[i] == 0xa9) (text[i - 2], text[i - 1], text[i]) = (" ", " ", " ");
        }
    }
}
