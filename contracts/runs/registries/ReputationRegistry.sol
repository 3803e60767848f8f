// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IIdentityRegistry} from "./IIdentityRegistry.sol";
import {IReputationRegistry} from "./IReputationRegistry.sol";

/// @title ERC-8004's reputation registry
/// @notice Interface, events and reasons are those of the reference, without its owner and its upgrades.
/// @dev The identity registry is at slot 0, as in the reference, so a genesis can hold the code and this one slot.
contract ReputationRegistry is IReputationRegistry {
    struct Feedback {
        int128 value;
        uint8 valueDecimals;
        bool isRevoked;
        string tag1;
        string tag2;
        address[] responders;
        mapping(address responder => uint64) responsesOf;
    }

    /// @dev A filter of feedback entries.
    struct Filter {
        bytes32 tag1Hash;
        bytes32 tag2Hash;
        bool includesRevoked;
    }

    /// @dev Source: the reference.
    int128 private constant MAX_ABSOLUTE_VALUE = 1e38;
    uint8 private constant MAX_DECIMALS = 18;

    bytes32 private constant ANY_TAG = keccak256("");

    address private identityRegistry;
    mapping(uint256 agentId => mapping(address client => mapping(uint64 index => Feedback))) private feedbackOf;
    mapping(uint256 agentId => mapping(address client => uint64)) private lastIndexOf;
    mapping(uint256 agentId => address[]) private clientsOf;

    /// @param identityRegistry_ the registry whose agents these are
    constructor(address identityRegistry_) {
        require(identityRegistry_ != address(0), "bad identity");
        identityRegistry = identityRegistry_;
    }

    /// @inheritdoc IReputationRegistry
    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string memory tag1,
        string memory tag2,
        string memory endpoint,
        string memory feedbackURI,
        bytes32 feedbackHash
    ) external {
        uint64 index = _store(agentId, value, valueDecimals, tag1, tag2);
        emit NewFeedback(
            agentId, msg.sender, index, value, valueDecimals, tag1, tag1, tag2, endpoint, feedbackURI, feedbackHash
        );
    }

    /// @inheritdoc IReputationRegistry
    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external {
        Feedback storage entry = _find(agentId, msg.sender, feedbackIndex);
        require(!entry.isRevoked, "Already revoked");
        entry.isRevoked = true;
        emit FeedbackRevoked(agentId, msg.sender, feedbackIndex);
    }

    /// @inheritdoc IReputationRegistry
    function appendResponse(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        string calldata responseURI,
        bytes32 responseHash
    ) external {
        require(feedbackIndex > 0, "index must be > 0");
        require(bytes(responseURI).length > 0, "Empty URI");
        Feedback storage entry = _find(agentId, clientAddress, feedbackIndex);
        if (entry.responsesOf[msg.sender]++ == 0) entry.responders.push(msg.sender);
        emit ResponseAppended(agentId, clientAddress, feedbackIndex, msg.sender, responseURI, responseHash);
    }

    /// @inheritdoc IReputationRegistry
    function getIdentityRegistry() external view returns (address) {
        return identityRegistry;
    }

    /// @inheritdoc IReputationRegistry
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64) {
        return lastIndexOf[agentId][clientAddress];
    }

    /// @inheritdoc IReputationRegistry
    function readFeedback(uint256 agentId, address clientAddress, uint64 feedbackIndex)
        external
        view
        returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked)
    {
        Feedback storage entry = _find(agentId, clientAddress, feedbackIndex);
        return (entry.value, entry.valueDecimals, entry.tag1, entry.tag2, entry.isRevoked);
    }

    /// @inheritdoc IReputationRegistry
    /// @dev Reads every entry of every client, so who names clients bounds the gas.
    function getSummary(
        uint256 agentId,
        address[] calldata clientAddresses,
        string calldata tag1,
        string calldata tag2
    ) external view returns (uint64 count, int128 summaryValue, uint8 summaryValueDecimals) {
        require(clientAddresses.length > 0, "clientAddresses required");
        Filter memory filter = Filter(keccak256(bytes(tag1)), keccak256(bytes(tag2)), false);
        (address[] memory clients, uint64[] memory indexes) = _list(agentId, clientAddresses, filter);
        count = uint64(clients.length);
        if (count > 0) (summaryValue, summaryValueDecimals) = _average(agentId, clients, indexes);
    }

    /// @inheritdoc IReputationRegistry
    function readAllFeedback(
        uint256 agentId,
        address[] memory clientAddresses,
        string memory tag1,
        string memory tag2,
        bool includeRevoked
    )
        external
        view
        returns (
            address[] memory clients,
            uint64[] memory feedbackIndexes,
            int128[] memory values,
            uint8[] memory valueDecimals,
            string[] memory tag1s,
            string[] memory tag2s,
            bool[] memory revokedStatuses
        )
    {
        Filter memory filter = Filter(keccak256(bytes(tag1)), keccak256(bytes(tag2)), includeRevoked);
        (clients, feedbackIndexes) = _list(agentId, clientAddresses, filter);
        (values, valueDecimals, tag1s, tag2s, revokedStatuses) = _read(agentId, clients, feedbackIndexes);
    }

    /// @inheritdoc IReputationRegistry
    function getResponseCount(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        address[] calldata responders
    ) external view returns (uint64 count) {
        if (clientAddress != address(0)) {
            return _countResponses(agentId, clientAddress, feedbackIndex, responders);
        }
        address[] storage clients = clientsOf[agentId];
        for (uint256 i = 0; i < clients.length; i++) count += _countResponses(agentId, clients[i], 0, responders);
    }

    /// @inheritdoc IReputationRegistry
    function getClients(uint256 agentId) external view returns (address[] memory) {
        return clientsOf[agentId];
    }

    /// @inheritdoc IReputationRegistry
    function getVersion() external pure returns (string memory) {
        return "2.0.0";
    }

    function _store(uint256 agentId, int128 value, uint8 valueDecimals, string memory tag1, string memory tag2)
        private
        returns (uint64 index)
    {
        require(valueDecimals <= MAX_DECIMALS, "too many decimals");
        require(value >= -MAX_ABSOLUTE_VALUE && value <= MAX_ABSOLUTE_VALUE, "value too large");
        bool isOwn = IIdentityRegistry(identityRegistry).isAuthorizedOrOwner(msg.sender, agentId);
        require(!isOwn, "Self-feedback not allowed");
        index = ++lastIndexOf[agentId][msg.sender];
        if (index == 1) clientsOf[agentId].push(msg.sender);
        Feedback storage entry = feedbackOf[agentId][msg.sender][index];
        (entry.value, entry.valueDecimals) = (value, valueDecimals);
        (entry.tag1, entry.tag2) = (tag1, tag2);
    }

    function _find(uint256 agentId, address client, uint64 index) private view returns (Feedback storage) {
        require(index > 0, "index must be > 0");
        require(index <= lastIndexOf[agentId][client], "index out of bounds");
        return feedbackOf[agentId][client][index];
    }

    function _matches(Feedback storage entry, Filter memory filter) private view returns (bool) {
        if (entry.isRevoked && !filter.includesRevoked) return false;
        bool isTagged = filter.tag1Hash == ANY_TAG || filter.tag1Hash == keccak256(bytes(entry.tag1));
        return isTagged && (filter.tag2Hash == ANY_TAG || filter.tag2Hash == keccak256(bytes(entry.tag2)));
    }

    /// @dev Clients and indexes of the entries that match.
    /// @param named whose entries; all clients' if none is named
    function _list(uint256 agentId, address[] memory named, Filter memory filter)
        private
        view
        returns (address[] memory clients, uint64[] memory indexes)
    {
        if (named.length == 0) named = clientsOf[agentId];
        uint256 most;
        for (uint256 i = 0; i < named.length; i++) most += lastIndexOf[agentId][named[i]];
        (clients, indexes) = (new address[](most), new uint64[](most));
        uint256 count;
        for (uint256 i = 0; i < named.length; i++) {
            uint64 last = lastIndexOf[agentId][named[i]];
            for (uint64 index = 1; index <= last; index++) {
                if (!_matches(feedbackOf[agentId][named[i]][index], filter)) continue;
                (clients[count], indexes[count]) = (named[i], index);
                count++;
            }
        }
        assembly ("memory-safe") {
            mstore(clients, count)
            mstore(indexes, count)
        }
    }

    /// @dev The content of entries.
    function _read(uint256 agentId, address[] memory clients, uint64[] memory indexes)
        private
        view
        returns (
            int128[] memory values,
            uint8[] memory decimals,
            string[] memory tag1s,
            string[] memory tag2s,
            bool[] memory areRevoked
        )
    {
        uint256 count = clients.length;
        (values, decimals, areRevoked) = (new int128[](count), new uint8[](count), new bool[](count));
        (tag1s, tag2s) = (new string[](count), new string[](count));
        for (uint256 i = 0; i < count; i++) {
            Feedback storage entry = feedbackOf[agentId][clients[i]][indexes[i]];
            (values[i], decimals[i], areRevoked[i]) = (entry.value, entry.valueDecimals, entry.isRevoked);
            (tag1s[i], tag2s[i]) = (entry.tag1, entry.tag2);
        }
    }

    /// @dev The average, with the most frequent number of decimals.
    function _average(uint256 agentId, address[] memory clients, uint64[] memory indexes)
        private
        view
        returns (int128 value, uint8 decimals)
    {
        int256 sum; // with 18 decimals
        uint64[MAX_DECIMALS + 1] memory countOf; // by decimals
        for (uint256 i = 0; i < clients.length; i++) {
            Feedback storage entry = feedbackOf[agentId][clients[i]][indexes[i]];
            sum += entry.value * int256(10 ** uint256(MAX_DECIMALS - entry.valueDecimals));
            countOf[entry.valueDecimals]++;
        }
        for (uint8 i = 1; i <= MAX_DECIMALS; i++) if (countOf[i] > countOf[decimals]) decimals = i;
        int256 average = sum / int256(clients.length);
        value = int128(average / int256(10 ** uint256(MAX_DECIMALS - decimals)));
    }

    /// @param index zero for all of the client's entries
    function _countResponses(uint256 agentId, address client, uint64 index, address[] calldata responders)
        private
        view
        returns (uint64 count)
    {
        uint64 last = index > 0 ? index : lastIndexOf[agentId][client];
        for (uint64 i = index > 0 ? index : 1; i <= last; i++) {
            Feedback storage entry = feedbackOf[agentId][client][i];
            address[] memory counted = responders;
            if (counted.length == 0) counted = entry.responders;
            for (uint256 k = 0; k < counted.length; k++) count += entry.responsesOf[counted[k]];
        }
    }
}
