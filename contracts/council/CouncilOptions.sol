// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ICouncil} from "./ICouncil.sol";

/// @title The options of a discrete query
/// @notice `specifications` that begin with `OPTIONS: yes|no|unknown` make a query discrete. The line ends with a line
///   break or the text; what follows is free. Options are 2 to 16, of 1 to 64 bytes, all different; case and blanks count.
library CouncilOptions {
    uint256 internal constant MAX_OPTIONS = 16;
    uint256 internal constant MAX_OPTION_BYTES = 64; // the ERC's recommended limit of an item
    bytes9 private constant PREFIX = "OPTIONS: ";

    /// @notice Returns the number of options; zero for an open query.
    function count(bytes memory specifications) internal pure returns (uint256 options) {
        uint256 start = 9;
        if (specifications.length < start || bytes9(specifications) != PREFIX) return 0;
        bytes32[] memory seen = new bytes32[](MAX_OPTIONS);
        for (bool last; !last;) {
            uint256 end;
            (end, last) = _endOf(specifications, start);
            if (end == start || end - start > MAX_OPTION_BYTES || options == MAX_OPTIONS) _refuse(options);
            bytes32 hash = _hash(specifications, start, end);
            for (uint256 i = 0; i < options; i++) if (seen[i] == hash) _refuse(options);
            seen[options++] = hash;
            start = end + 1;
        }
        if (options < 2) _refuse(options);
    }

    /// @notice Returns the place of an option from 1 on; zero if it is none.
    function find(bytes memory specifications, bytes memory option) internal pure returns (uint8 place) {
        bytes32 wanted = keccak256(option);
        (uint256 start, uint256 end, bool last) = (9, 0, false);
        while (!last) {
            (end, last) = _endOf(specifications, start);
            place++;
            if (_hash(specifications, start, end) == wanted) return place;
            start = end + 1;
        }
        return 0;
    }

    /// @notice Returns the option at a place from 1 on.
    function get(bytes memory specifications, uint256 place) internal pure returns (bytes memory option) {
        uint256 start = 9;
        (uint256 end,) = _endOf(specifications, start);
        while (--place > 0) {
            start = end + 1;
            (end,) = _endOf(specifications, start);
        }
        option = new bytes(end - start);
        for (uint256 i = start; i < end; i++) option[i - start] = specifications[i];
    }

    function _endOf(bytes memory text, uint256 start) private pure returns (uint256 end, bool last) {
        end = start;
        while (end < text.length && text[end] != "|" && text[end] != "\n") end++;
        last = end >= text.length || text[end] == "\n";
    }

    function _hash(bytes memory text, uint256 start, uint256 end) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            hash := keccak256(add(add(text, 32), start), sub(end, start))
        }
    }

    function _refuse(uint256 option) private pure {
        revert ICouncil.MalformedOptions(option);
    }
}
