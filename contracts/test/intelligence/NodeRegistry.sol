// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title NodeRegistry
/// @notice A registry of names as EIP-137 describes it: each node has an owner, who alone may change it.
contract NodeRegistry {
    struct Record {
        address owner;
        address resolver;
        uint64 ttl;
    }

    /// @notice The node is not the caller's.
    error NotTheOwner(bytes32 node);

    event NewOwner(bytes32 indexed node, bytes32 indexed label, address owner);
    event Transfer(bytes32 indexed node, address owner);
    event NewResolver(bytes32 indexed node, address resolver);
    event NewTTL(bytes32 indexed node, uint64 ttl);

    mapping(bytes32 node => Record record) private _records;
    mapping(address owner => mapping(address operator => bool isApproved)) private _operators;

    modifier authorised(bytes32 node) {
        address holder = _records[node].owner;
        if (holder != msg.sender && !_operators[holder][msg.sender]) revert NotTheOwner(node);
        _;
    }

    /// @param root Owns the node of all names.
    constructor(address root) {
        _records[0].owner = root;
    }

    /// @notice Give a node away. Only the node's owner.
    function setOwner(bytes32 node, address owner_) external authorised(node) {
        _records[node].owner = owner_;
        emit Transfer(node, owner_);
    }

    /// @notice Make a node below another one. Only the owner of that one.
    /// @return subnode The new node.
    function setSubnodeOwner(bytes32 node, bytes32 label, address owner_)
        external
        authorised(node)
        returns (bytes32 subnode)
    {
        subnode = keccak256(abi.encodePacked(node, label));
        _records[subnode].owner = owner_;
        emit NewOwner(node, label, owner_);
    }

    /// @notice Set the contract that knows a node's addresses. Only the node's owner.
    function setResolver(bytes32 node, address resolver_) external authorised(node) {
        _records[node].resolver = resolver_;
        emit NewResolver(node, resolver_);
    }

    /// @notice Set how long a node may be cached. Only the node's owner.
    function setTTL(bytes32 node, uint64 ttl_) external authorised(node) {
        _records[node].ttl = ttl_;
        emit NewTTL(node, ttl_);
    }

    /// @notice Let another account change all nodes of the caller, or no longer.
    function setApprovalForAll(address operator, bool isApproved) external {
        _operators[msg.sender][operator] = isApproved;
    }

    /// @notice The owner of a node.
    function owner(bytes32 node) external view returns (address) {
        return _records[node].owner;
    }

    /// @notice The contract that knows a node's addresses.
    function resolver(bytes32 node) external view returns (address) {
        return _records[node].resolver;
    }

    /// @notice How long a node may be cached.
    function ttl(bytes32 node) external view returns (uint64) {
        return _records[node].ttl;
    }
}
