// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title What tools did, in order
/// @notice Whoever calls `append` is noted as a tool: a benchmark reads here what an agent left behind.
contract Ledger {
    /// @param tool who did it
    /// @param argumentsHash keccak256 of the `abiEncodedParams` it was done with
    struct Entry {
        address tool;
        bytes32 argumentsHash;
    }

    Entry[] written;

    /// @notice Notes that the caller did something with these arguments.
    function append(bytes32 argumentsHash) external {
        written.push(Entry(msg.sender, argumentsHash));
    }

    /// @notice Returns everything that was done, the oldest first.
    function entries() external view returns (Entry[] memory) {
        return written;
    }
}
