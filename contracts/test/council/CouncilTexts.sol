// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {CouncilOptions} from "../../council/CouncilOptions.sol";
import {CouncilText} from "../../council/CouncilText.sol";
import {LongAnswer} from "../../council/LongAnswer.sol";

/// @title The council's libraries of texts as functions. For tests
contract CouncilTexts {
    function quote(bytes calldata answer, uint256 limit) external pure returns (string memory) {
        return CouncilText.quote(answer, limit);
    }

    function isSame(bytes calldata one, bytes calldata other) external pure returns (bool) {
        return CouncilText.isSame(one, other);
    }

    function resultOf(string calldata said) external pure returns (string memory) {
        return string(CouncilText.resultOf(said));
    }

    function readVerdict(bytes calldata verdict, uint256 count) external pure returns (uint256, bytes memory) {
        return CouncilText.readVerdict(verdict, count);
    }

    function findOnly(bytes calldata specifications, bytes calldata text) external pure returns (uint8) {
        return CouncilOptions.findOnly(specifications, text);
    }

    function encodeLong(bytes32 contentHash, string calldata uri) external pure returns (bytes memory) {
        return LongAnswer.encode(contentHash, uri);
    }

    function decodeLong(bytes calldata answer) external pure returns (bool, bytes32, string memory) {
        if (!LongAnswer.isLong(answer)) return (false, 0, "");
        (bytes32 contentHash, string memory uri) = LongAnswer.decode(answer);
        return (true, contentHash, uri);
    }
}
