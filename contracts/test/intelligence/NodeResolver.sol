// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {NodeRegistry} from "./NodeRegistry.sol";

/// @title NodeResolver
/// @notice Tells the addresses of names, as EIP-137 describes it.
contract NodeResolver {
    NodeRegistry private immutable _registry;
    mapping(bytes32 node => address account) private _addresses;

    /// @param registry Whose nodes it knows.
    constructor(NodeRegistry registry) {
        _registry = registry;
    }

    /// @notice Set the address of a node. Only the node's owner.
    function setAddr(bytes32 node, address account) external {
        require(_registry.owner(node) == msg.sender, "not yours");
        _addresses[node] = account;
    }

    /// @notice The address of a node.
    function addr(bytes32 node) external view returns (address) {
        return _addresses[node];
    }
}
