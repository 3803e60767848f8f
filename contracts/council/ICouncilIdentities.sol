// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What a council reads of ERC-8004's identity registry
interface ICouncilIdentities {
    /// @notice Returns the owner of an agent's identity.
    function ownerOf(uint256 agentId) external view returns (address);

    /// @notice Returns the wallet of an agent; zero for none.
    function getAgentWallet(uint256 agentId) external view returns (address);

    /// @notice Returns what an agent declares under a key.
    function getMetadata(uint256 agentId, string calldata metadataKey) external view returns (bytes memory);
}
