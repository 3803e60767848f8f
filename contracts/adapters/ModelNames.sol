// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What models of other systems are called here
/// @notice Made once and never changed. Adapters read it, so that their own code can be put at any address.
contract ModelNames {
    /// @param foreignId a model's ID in the other system
    /// @param modelId its name or digest here
    struct Entry {
        bytes foreignId;
        string modelId;
    }

    /// @notice No model stands for this ID.
    error ModelNotServed(bytes foreignId);

    /// @notice An ID stands twice in the list, or is without a model.
    error InvalidEntry(bytes foreignId);

    mapping(bytes32 foreignHash => string) private modelIdOf;

    constructor(Entry[] memory entries) {
        for (uint256 i = 0; i < entries.length; i++) {
            bytes32 foreignHash = keccak256(entries[i].foreignId);
            bool isNew = bytes(modelIdOf[foreignHash]).length == 0 && bytes(entries[i].modelId).length != 0;
            if (!isNew) revert InvalidEntry(entries[i].foreignId);
            modelIdOf[foreignHash] = entries[i].modelId;
        }
    }

    /// @notice Returns a model's name or digest here.
    function find(bytes memory foreignId) external view returns (string memory modelId) {
        modelId = modelIdOf[keccak256(foreignId)];
        if (bytes(modelId).length == 0) revert ModelNotServed(foreignId);
    }
}
