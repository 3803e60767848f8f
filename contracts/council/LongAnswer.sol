// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Answers and reasons that are kept elsewhere: their hash and where they are
/// @notice The bytes are `0x80330001`, the 32 bytes of the content's keccak-256, and the URI. Whoever fetches the content
///   compares the hash.
library LongAnswer {
    bytes4 internal constant MARK = 0x80330001;
    uint256 private constant HEAD_BYTES = 36;

    /// @notice Returns the bytes that stand for a content.
    function encode(bytes32 contentHash, string memory uri) internal pure returns (bytes memory) {
        return abi.encodePacked(MARK, contentHash, uri);
    }

    /// @notice Tells whether the bytes stand for a content kept elsewhere.
    function isLong(bytes memory answer) internal pure returns (bool) {
        return answer.length > HEAD_BYTES && bytes4(answer) == MARK;
    }

    /// @notice Returns hash and URI of a content kept elsewhere.
    function decode(bytes memory answer) internal pure returns (bytes32 contentHash, string memory uri) {
        assembly ("memory-safe") {
            contentHash := mload(add(answer, 36))
        }
        bytes memory found = new bytes(answer.length - HEAD_BYTES);
        for (uint256 i = 0; i < found.length; i++) found[i] = answer[i + HEAD_BYTES];
        uri = string(found);
    }
}
