// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {ToolIdentity} from "./ToolIdentity.sol";

/// @title The versions of an agent; each user chooses one, and can go back
/// @notice The owner, for example a Governor's timelock, publishes. Nobody but the user changes what the user runs: a new
///   version reaches nobody who doesn't adopt it, and a withdrawn one stays with those who have it.
contract AgentVersions is Ownable2Step {
    /// @notice A published version.
    /// @param agent the agent
    /// @param codeHash the hash of its code
    /// @param metadataHash of its name, description and parameters, see ToolIdentity
    /// @param isWithdrawn nobody can adopt it any more
    struct PublishedVersion {
        address agent;
        bytes32 codeHash;
        bytes32 metadataHash;
        bool isWithdrawn;
    }

    /// @notice There is no contract at the agent's address.
    error AgentWithoutCode(address agent);

    /// @notice There is no such version. The first one is 1.
    error UnknownVersion(uint256 version);

    /// @notice The owner has withdrawn the version.
    error VersionWithdrawn(uint256 version);

    /// @notice The agent is not what was published: its code or its metadata differ.
    error AgentChanged(address agent, uint256 version);

    /// @notice The user has no version, or no earlier one to go back to.
    error NoVersion(address user);

    /// @notice A version was published.
    event VersionPublished(uint256 indexed version, address indexed agent, bytes32 codeHash, bytes32 metadataHash);

    /// @notice A version was withdrawn.
    event VersionRetracted(uint256 indexed version, string reason);

    /// @notice A user chose a version, or went back to one.
    event VersionChosen(address indexed user, uint256 indexed version);

    PublishedVersion[] private published;
    mapping(address user => uint256[]) private choices;

    constructor(address initialOwner) Ownable(initialOwner) {}

    /// @notice Publishes an agent as the next version. For the owner.
    function publish(address agent) external onlyOwner returns (uint256 version) {
        if (agent.code.length == 0) revert AgentWithoutCode(agent);
        bytes32 metadata = ToolIdentity.metadataHash(agent);
        published.push(PublishedVersion(agent, agent.codehash, metadata, false));
        version = published.length;
        emit VersionPublished(version, agent, agent.codehash, metadata);
    }

    /// @notice Withdraws a version, for example for a bug. For the owner.
    function withdraw(uint256 version, string calldata reason) external onlyOwner {
        _versionAt(version).isWithdrawn = true;
        emit VersionRetracted(version, reason);
    }

    /// @notice Chooses a version for the caller.
    function adopt(uint256 version) external returns (address agent) {
        PublishedVersion storage chosen = _versionAt(version);
        if (chosen.isWithdrawn) revert VersionWithdrawn(version);
        _requireUnchanged(chosen, version);
        choices[msg.sender].push(version);
        emit VersionChosen(msg.sender, version);
        return chosen.agent;
    }

    /// @notice Goes back to the caller's choice before the last one; withdrawn versions are passed over.
    function goBack() external returns (uint256 version, address agent) {
        uint256[] storage own = choices[msg.sender];
        if (own.length != 0) own.pop();
        while (own.length != 0 && published[own[own.length - 1] - 1].isWithdrawn) own.pop();
        if (own.length == 0) revert NoVersion(msg.sender);
        version = own[own.length - 1];
        _requireUnchanged(published[version - 1], version);
        emit VersionChosen(msg.sender, version);
        return (version, published[version - 1].agent);
    }

    /// @notice Returns the version that a user runs; reverts if its agent is not what was published.
    function versionOf(address user) external view returns (uint256 version, address agent) {
        uint256[] storage own = choices[user];
        if (own.length == 0) revert NoVersion(user);
        version = own[own.length - 1];
        _requireUnchanged(published[version - 1], version);
        return (version, published[version - 1].agent);
    }

    /// @notice Returns a published version.
    function versionAt(uint256 version) external view returns (PublishedVersion memory) {
        return _versionAt(version);
    }

    /// @notice Returns the newest version; 0 while there is none.
    function latest() external view returns (uint256) {
        return published.length;
    }

    function _versionAt(uint256 version) private view returns (PublishedVersion storage) {
        if (version == 0 || version > published.length) revert UnknownVersion(version);
        return published[version - 1];
    }

    function _requireUnchanged(PublishedVersion storage chosen, uint256 version) private view {
        if (chosen.agent.codehash != chosen.codeHash || ToolIdentity.metadataHash(chosen.agent) != chosen.metadataHash) {
            revert AgentChanged(chosen.agent, version);
        }
    }
}
