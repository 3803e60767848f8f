// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AbiString} from "../libraries/AbiString.sol";
import {Bm25} from "./Bm25.sol";
import {KnowledgeBase} from "./KnowledgeBase.sol";
import {Utf8} from "./Utf8.sol";

/// @title A tool that finds passages of a knowledge base
/// @notice The result is the best passages, each in double quotes behind a letter: `[a] "Loans need collateral." [b] "…"`.
///   A label with a digit could be read as a number of the passage. `KnowledgeBase.search` tells the ids.
///   A double quote inside of a passage becomes a single one, so no passage ends its quotation. The executor escapes line
///   breaks, so no passage begins a line of the prompt. Anybody may run it.
contract RetrievalTool is IERCAgentTool {
    /// @notice The input is not one parameter of type STRING.
    error UnexpectedInput(string reason);

    /// @notice A passage of the result has 1 to 4096 bytes.
    error WrongSize(uint256 size);

    /// @notice What the result is if no passage has a word of the query.
    string public constant NOTHING = "No passage has these words.";

    /// @notice What the result is if the query is beyond the limits of a search.
    string public constant TOO_MUCH = "The query is too long or too common: use fewer words.";

    /// @dev Bytes of a passage, as in `KnowledgeBase`.
    uint256 private constant MAX_BYTES = 4096;

    /// @inheritdoc IERCAgentTool
    string public name;

    /// @inheritdoc IERCAgentTool
    string public description;

    /// @notice What it searches.
    KnowledgeBase public immutable base;

    /// @notice The most passages of a result.
    uint256 public immutable count;

    /// @notice The most bytes of each passage in a result; a longer one is cut, and ends with `...`.
    uint256 public immutable passageBytes;

    string private parameterDescription;

    /// @param _description ends with a marker behind it: the tool reads, whatever its words are
    /// @param _parameterDescription of the only parameter, `query`
    /// @param _count 1 to 8
    /// @param _passageBytes 1 to 4096
    constructor(
        KnowledgeBase _base,
        string memory _name,
        string memory _description,
        string memory _parameterDescription,
        uint256 _count,
        uint256 _passageBytes
    ) {
        if (_count == 0 || _count > Bm25.MAX_MATCHES) revert Bm25.WrongCount(_count, Bm25.MAX_MATCHES);
        if (_passageBytes == 0 || _passageBytes > MAX_BYTES) revert WrongSize(_passageBytes);
        (base, count, passageBytes) = (_base, _count, _passageBytes);
        name = _name;
        description = string.concat(_description, " [call:reads]");
        parameterDescription = _parameterDescription;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = ParamDescription(ParamType.STRING, "query", parameterDescription);
    }

    /// @notice Searches the base.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external view returns (int256 runId, string memory result) {
        bool isText = input.params.length == 1 && input.params[0].paramType == ParamType.STRING
            && AbiString.isAt(input.params[0].value, 0);
        if (!isText) revert UnexpectedInput("one STRING expected");
        return (-1, _search(abi.decode(input.params[0].value, (string))));
    }

    function _search(string memory query) private view returns (string memory result) {
        try base.search(query, count) returns (Bm25.Match[] memory matches) {
            if (matches.length == 0) return NOTHING;
            for (uint256 i = 0; i < matches.length; i++) {
                result = string.concat(result, i == 0 ? "[" : " [", string(abi.encodePacked(bytes1(uint8(0x61 + i)))), "] ");
                result = string.concat(result, _show(matches[i].id));
            }
        } catch (bytes memory reason) {
            if (_isRefusal(bytes4(reason))) return TOO_MUCH;
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    function _show(uint256 id) private view returns (string memory) {
        (bool isKnown, string memory text) = base.textOf(id);
        return isKnown ? string.concat('"', _quotable(bytes(text)), '"') : "(text not presented)";
    }

    /// @dev Cuts a text and replaces its double quotes, in place.
    function _quotable(bytes memory text) private view returns (string memory) {
        uint256 size = Utf8.cut(text, passageBytes);
        bool isCut = size < text.length;
        assembly ("memory-safe") {
            mstore(text, size)
            let end := add(add(text, 32), size)
            for { let at := add(text, 32) } lt(at, end) { at := add(at, 1) } {
                if eq(byte(0, mload(at)), 0x22) { mstore8(at, 0x27) }
            }
        }
        return isCut ? string.concat(string(text), "...") : string(text);
    }

    function _isRefusal(bytes4 selector) private pure returns (bool) {
        return selector == Bm25.TooManyTerms.selector || selector == Bm25.TooManyPostings.selector
            || selector == KnowledgeBase.QueryTooLong.selector;
    }
}
