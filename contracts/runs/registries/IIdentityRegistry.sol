// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";

/// @title ERC-8004's identity registry
/// @notice An agent is a token; its URI is that of the registration file.
interface IIdentityRegistry is IERC721 {
    struct MetadataEntry {
        string metadataKey;
        bytes metadataValue;
    }

    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);

    event MetadataSet(
        uint256 indexed agentId, string indexed indexedMetadataKey, string metadataKey, bytes metadataValue
    );

    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);

    /// @notice Registers an agent of the caller without URI.
    function register() external returns (uint256 agentId);

    /// @notice Registers an agent of the caller.
    function register(string memory agentURI) external returns (uint256 agentId);

    /// @notice Registers an agent of the caller with metadata. The key `agentWallet` is reserved.
    function register(string memory agentURI, MetadataEntry[] memory metadata) external returns (uint256 agentId);

    /// @notice Changes the URI. For the agent's owner and operators.
    function setAgentURI(uint256 agentId, string calldata newURI) external;

    /// @notice Returns a value of the agent's metadata; empty if it is not set.
    function getMetadata(uint256 agentId, string memory metadataKey) external view returns (bytes memory);

    /// @notice Sets a value of the agent's metadata. For the agent's owner and operators. The key `agentWallet` is reserved.
    function setMetadata(uint256 agentId, string memory metadataKey, bytes memory metadataValue) external;

    /// @notice Returns the address that acts and is paid for the agent; zero if it is not set.
    function getAgentWallet(uint256 agentId) external view returns (address);

    /// @notice Sets the agent's wallet, which signs for it. For the agent's owner and operators.
    /// @param deadline timestamp in seconds, at most five minutes from now
    /// @param signature the wallet's, ECDSA or ERC-1271, of
    ///   `AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)`
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature) external;

    /// @notice Removes the agent's wallet. For the agent's owner and operators.
    function unsetAgentWallet(uint256 agentId) external;

    /// @notice Returns whether an address is the agent's owner or one of its operators. Reverts if there is no such agent.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool);

    /// @notice Returns the version of the interface.
    function getVersion() external pure returns (string memory);
}
