// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {Bm25} from "../../retrieval/Bm25.sol";
import {KnowledgeBase} from "../../retrieval/KnowledgeBase.sol";

/// @title A tool that reads one entry of a knowledge base
/// @notice It searches for words that were fixed at deployment, and answers what the best passage says after its first
///   `: `; all of a passage without one. A model chooses it by its name and writes no search. Anybody may run it.
contract RecordTool is IERCAgentTool {
    /// @notice No passage has one of the words.
    error NotRecorded(string words);

    /// @notice The text of the best passage is not on the chain.
    error TextMissing(uint256 id);

    /// @inheritdoc IERCAgentTool
    string public name;

    /// @inheritdoc IERCAgentTool
    string public description;

    /// @notice What it searches for.
    string public words;

    /// @notice What it searches.
    KnowledgeBase public immutable base;

    constructor(KnowledgeBase base_, string memory name_, string memory description_, string memory words_) {
        (base, name, description, words) = (base_, name_, description_, words_);
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory) {}

    /// @notice Reads the entry.
    /// @dev The arguments are unused: it has no parameters, and is synchronous.
    function run(Input memory, address) external view returns (int256 runId, string memory result) {
        Bm25.Match[] memory matches = base.search(words, 1);
        if (matches.length == 0) revert NotRecorded(words);
        (bool isKnown, string memory text) = base.textOf(matches[0].id);
        if (!isKnown) revert TextMissing(matches[0].id);
        return (-1, _entryOf(bytes(text)));
    }

    function _entryOf(bytes memory text) private pure returns (string memory) {
        for (uint256 i = 0; i + 1 < text.length; i++) {
            if (text[i] != ":" || text[i + 1] != " ") continue;
            bytes memory entry = new bytes(text.length - i - 2);
            for (uint256 j = 0; j < entry.length; j++) entry[j] = text[i + 2 + j];
            return string(entry);
        }
        return string(text);
    }
}
