// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title The parts of ERC-8004's registries that a council uses, in one contract. For tests
/// @notice As the reference: the mean counts feedback of the named clients with the tag; owners can't rate themselves.
contract CouncilRegistries {
    struct Feedback {
        address client;
        int128 value;
        string tag1;
        string tag2;
    }

    uint256 public agentCount;
    mapping(uint256 agentId => address) public ownerOf;
    mapping(uint256 agentId => address) public getAgentWallet;
    mapping(uint256 agentId => mapping(string key => bytes)) private metadata;
    mapping(uint256 agentId => Feedback[]) private feedbackOf;

    function register(address wallet, bytes calldata capabilities) external returns (uint256 agentId) {
        agentId = agentCount++;
        (ownerOf[agentId], getAgentWallet[agentId]) = (msg.sender, wallet);
        metadata[agentId]["council"] = capabilities;
    }

    function transfer(uint256 agentId, address to) external {
        require(ownerOf[agentId] == msg.sender, "not the owner");
        (ownerOf[agentId], getAgentWallet[agentId]) = (to, address(0));
    }

    function getMetadata(uint256 agentId, string calldata key) external view returns (bytes memory) {
        return metadata[agentId][key];
    }

    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8,
        string calldata tag1,
        string calldata tag2,
        string calldata,
        string calldata,
        bytes32
    ) external {
        require(ownerOf[agentId] != msg.sender, "Self-feedback not allowed");
        feedbackOf[agentId].push(Feedback(msg.sender, value, tag1, tag2));
    }

    function getSummary(uint256 agentId, address[] calldata clients, string calldata tag1, string calldata tag2)
        external
        view
        returns (uint64 count, int128 mean, uint8 decimals)
    {
        require(clients.length > 0, "clientAddresses required");
        Feedback[] storage all = feedbackOf[agentId];
        for (uint256 i = 0; i < all.length; i++) {
            bool counts = _isIn(clients, all[i].client) && _matches(all[i].tag1, tag1) && _matches(all[i].tag2, tag2);
            if (counts) (count, mean) = (count + 1, mean + all[i].value);
        }
        if (count > 0) mean /= int128(uint128(count));
        return (count, mean, 0);
    }

    function _isIn(address[] calldata clients, address client) private pure returns (bool) {
        for (uint256 i = 0; i < clients.length; i++) if (clients[i] == client) return true;
        return false;
    }

    function _matches(string memory tag, string calldata wanted) private pure returns (bool) {
        return bytes(wanted).length == 0 || keccak256(bytes(tag)) == keccak256(bytes(wanted));
    }
}
