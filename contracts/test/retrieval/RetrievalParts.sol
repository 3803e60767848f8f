// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Bm25} from "../../retrieval/Bm25.sol";
import {Sorting} from "../../retrieval/Sorting.sol";
import {Utf8} from "../../retrieval/Utf8.sol";

/// @title Functions of the libraries of retrieval
contract RetrievalParts {
    function log2(uint256 x) external pure returns (uint256) {
        return Bm25.log2(x);
    }

    function sort(uint256[] memory values, uint256 bits) external pure returns (uint256[] memory) {
        Sorting.sort(values, bits);
        return values;
    }

    function isUtf8(bytes memory text) external pure returns (bool) {
        return Utf8.isValid(text);
    }

    function cut(bytes memory text, uint256 limit) external pure returns (uint256) {
        return Utf8.cut(text, limit);
    }
}
