// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IIdentityRegistry} from "./IIdentityRegistry.sol";
import {IValidationRegistry} from "./IValidationRegistry.sol";

/// @title ERC-8004's validation registry
/// @notice Interface, events and reasons are those of the reference, without its owner and its upgrades.
/// @dev The identity registry is at slot 0, as in the reference, so a genesis can hold the code and this one slot.
contract ValidationRegistry is IValidationRegistry {
    struct Validation {
        address validator;
        uint8 response;
        bool hasResponse;
        uint256 agentId;
        bytes32 responseHash;
        string tag;
        uint256 lastUpdate;
    }

    uint8 private constant MAX_RESPONSE = 100;

    address private identityRegistry;
    mapping(bytes32 requestHash => Validation) private validations;
    mapping(uint256 agentId => bytes32[]) private requestsOf;
    mapping(address validator => bytes32[]) private requestsFor;

    /// @param identityRegistry_ the registry whose agents these are
    constructor(address identityRegistry_) {
        require(identityRegistry_ != address(0), "bad identity");
        identityRegistry = identityRegistry_;
    }

    /// @inheritdoc IValidationRegistry
    function validationRequest(
        address validatorAddress,
        uint256 agentId,
        string calldata requestURI,
        bytes32 requestHash
    ) external {
        Validation storage validation = validations[requestHash];
        require(validatorAddress != address(0), "bad validator");
        require(validation.validator == address(0), "exists");
        bool isOperator = IIdentityRegistry(identityRegistry).isAuthorizedOrOwner(msg.sender, agentId);
        require(isOperator, "Not authorized");

        (validation.validator, validation.agentId) = (validatorAddress, agentId);
        validation.lastUpdate = block.timestamp;
        requestsOf[agentId].push(requestHash);
        requestsFor[validatorAddress].push(requestHash);
        emit ValidationRequest(validatorAddress, agentId, requestURI, requestHash);
    }

    /// @inheritdoc IValidationRegistry
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external {
        Validation storage validation = _find(requestHash);
        require(msg.sender == validation.validator, "not validator");
        require(response <= MAX_RESPONSE, "resp>100");
        (validation.response, validation.hasResponse, validation.responseHash) = (response, true, responseHash);
        (validation.tag, validation.lastUpdate) = (tag, block.timestamp);
        emit ValidationResponse(
            msg.sender, validation.agentId, requestHash, response, responseURI, responseHash, tag
        );
    }

    /// @inheritdoc IValidationRegistry
    function getIdentityRegistry() external view returns (address) {
        return identityRegistry;
    }

    /// @inheritdoc IValidationRegistry
    function getValidationStatus(bytes32 requestHash)
        external
        view
        returns (
            address validatorAddress,
            uint256 agentId,
            uint8 response,
            bytes32 responseHash,
            string memory tag,
            uint256 lastUpdate
        )
    {
        Validation storage found = _find(requestHash);
        return (found.validator, found.agentId, found.response, found.responseHash, found.tag, found.lastUpdate);
    }

    /// @inheritdoc IValidationRegistry
    /// @dev Reads every request of the agent, whoever answered it.
    function getSummary(uint256 agentId, address[] calldata validatorAddresses, string calldata tag)
        external
        view
        returns (uint64 count, uint8 avgResponse)
    {
        bytes32[] storage requests = requestsOf[agentId];
        uint256 sum;
        for (uint256 i = 0; i < requests.length; i++) {
            Validation storage validation = validations[requests[i]];
            if (!validation.hasResponse || !_isOneOf(validation.validator, validatorAddresses)) continue;
            bool isTagged = bytes(tag).length == 0 || keccak256(bytes(validation.tag)) == keccak256(bytes(tag));
            if (!isTagged) continue;
            sum += validation.response;
            count++;
        }
        if (count > 0) avgResponse = uint8(sum / count);
    }

    /// @inheritdoc IValidationRegistry
    function getAgentValidations(uint256 agentId) external view returns (bytes32[] memory) {
        return requestsOf[agentId];
    }

    /// @inheritdoc IValidationRegistry
    function getValidatorRequests(address validatorAddress) external view returns (bytes32[] memory) {
        return requestsFor[validatorAddress];
    }

    /// @inheritdoc IValidationRegistry
    function getVersion() external pure returns (string memory) {
        return "2.0.0";
    }

    function _find(bytes32 requestHash) private view returns (Validation storage validation) {
        validation = validations[requestHash];
        require(validation.validator != address(0), "unknown");
    }

    /// @dev An empty list has everybody.
    function _isOneOf(address validator, address[] calldata named) private pure returns (bool) {
        for (uint256 i = 0; i < named.length; i++) if (named[i] == validator) return true;
        return named.length == 0;
    }
}
