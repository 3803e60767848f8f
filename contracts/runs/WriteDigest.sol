// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Digests of the writes of a run, in their order
library WriteDigest {
    /// @notice Returns the hash of a write.
    function hashWrite(bytes32 stepId, address target, uint256 value, bytes memory data)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(stepId, target, value, keccak256(data)));
    }

    /// @notice Returns the digest after one write more.
    /// @param digest of the writes before it; 0 for none
    function append(bytes32 digest, bytes32 writeHash) internal pure returns (bytes32) {
        return keccak256(abi.encode(digest, writeHash));
    }

    /// @notice Returns the digest of writes.
    function hashWrites(bytes32[] memory writes) internal pure returns (bytes32 digest) {
        for (uint256 i = 0; i < writes.length; i++) digest = append(digest, writes[i]);
    }
}
