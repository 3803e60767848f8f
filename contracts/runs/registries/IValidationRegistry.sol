// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title ERC-8004's validation registry
/// @notice An agent's owner asks a validator to check work; the validator answers with a number from 0 to 100.
/// @dev A request hash can be used once, by any agent's owner who is first. Whoever sees a hash in a pending transaction can
///   take it. So a request hash must bind the agent's ID and a salt: then a taken hash is of use to nobody else, and
///   another salt gives another hash.
interface IValidationRegistry {
    event ValidationRequest(
        address indexed validatorAddress, uint256 indexed agentId, string requestURI, bytes32 indexed requestHash
    );

    event ValidationResponse(
        address indexed validatorAddress,
        uint256 indexed agentId,
        bytes32 indexed requestHash,
        uint8 response,
        string responseURI,
        bytes32 responseHash,
        string tag
    );

    /// @notice Returns the identity registry whose agents these are.
    function getIdentityRegistry() external view returns (address);

    /// @notice Asks a validator. For the agent's owner and operators.
    function validationRequest(
        address validatorAddress,
        uint256 agentId,
        string calldata requestURI,
        bytes32 requestHash
    ) external;

    /// @notice Answers a request, again if the validator wishes. For the request's validator.
    /// @param response 0 to 100
    function validationResponse(
        bytes32 requestHash,
        uint8 response,
        string calldata responseURI,
        bytes32 responseHash,
        string calldata tag
    ) external;

    /// @notice Returns a request and its last answer. Reverts if there is no such request.
    /// @dev `lastUpdate`: timestamp in seconds of the last answer, or of the request
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
        );

    /// @notice Returns number and average, rounded down, of an agent's answered requests.
    /// @param validatorAddresses none for all
    /// @param tag empty for all
    function getSummary(uint256 agentId, address[] calldata validatorAddresses, string calldata tag)
        external
        view
        returns (uint64 count, uint8 avgResponse);

    /// @notice Returns the request hashes of an agent.
    function getAgentValidations(uint256 agentId) external view returns (bytes32[] memory);

    /// @notice Returns the request hashes of a validator.
    function getValidatorRequests(address validatorAddress) external view returns (bytes32[] memory);

    /// @notice Returns the version of the interface.
    function getVersion() external pure returns (string memory);
}
