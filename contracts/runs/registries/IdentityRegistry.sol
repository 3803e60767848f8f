// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC5267} from "@openzeppelin/contracts/interfaces/IERC5267.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ERC721URIStorage} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureProof} from "../SignatureProof.sol";
import {IIdentityRegistry} from "./IIdentityRegistry.sol";

/// @title ERC-8004's identity registry
/// @notice Interface, events and reasons are those of the reference, without its owner and its upgrades.
/// @dev The code needs no constructor: names are in it, and the EIP-712 domain is computed at each use. So a genesis can
///   hold it.
contract IdentityRegistry is IIdentityRegistry, ERC721URIStorage, IERC5267 {
    bytes32 private constant DOMAIN_TYPE_HASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    string private constant DOMAIN_NAME = "ERC8004IdentityRegistry";
    string private constant DOMAIN_VERSION = "1";

    /// @dev Name, version, chain ID and contract are set. Source: ERC-5267.
    bytes1 private constant DOMAIN_FIELDS = 0x0f;

    bytes32 private constant WALLET_TYPE_HASH =
        keccak256("AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)");

    string private constant WALLET_KEY = "agentWallet";

    /// @dev How far ahead the deadline of a wallet's signature may be. Source: the reference.
    uint256 private constant MAX_DEADLINE_DELAY = 5 minutes;

    uint256 private agentCount;
    mapping(uint256 agentId => mapping(string key => bytes)) private metadataOf;

    modifier onlyOperator(uint256 agentId) {
        require(_isAuthorized(ownerOf(agentId), msg.sender, agentId), "Not authorized");
        _;
    }

    constructor() ERC721("", "") {}

    /// @inheritdoc IIdentityRegistry
    function register() external returns (uint256 agentId) {
        agentId = _mintAgent();
        _announce(agentId, "");
    }

    /// @inheritdoc IIdentityRegistry
    function register(string memory agentURI) external returns (uint256 agentId) {
        agentId = _mintAgent();
        _setTokenURI(agentId, agentURI);
        _announce(agentId, agentURI);
    }

    /// @inheritdoc IIdentityRegistry
    function register(string memory agentURI, MetadataEntry[] memory metadata) external returns (uint256 agentId) {
        agentId = _mintAgent();
        _setTokenURI(agentId, agentURI);
        _announce(agentId, agentURI);
        for (uint256 i = 0; i < metadata.length; i++) {
            _setMetadata(agentId, metadata[i].metadataKey, metadata[i].metadataValue);
        }
    }

    /// @inheritdoc IIdentityRegistry
    function setAgentURI(uint256 agentId, string calldata newURI) external onlyOperator(agentId) {
        _setTokenURI(agentId, newURI);
        emit URIUpdated(agentId, newURI, msg.sender);
    }

    /// @inheritdoc IIdentityRegistry
    function setMetadata(uint256 agentId, string memory metadataKey, bytes memory metadataValue)
        external
        onlyOperator(agentId)
    {
        _setMetadata(agentId, metadataKey, metadataValue);
    }

    /// @inheritdoc IIdentityRegistry
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature)
        external
        onlyOperator(agentId)
    {
        require(newWallet != address(0), "bad wallet");
        require(block.timestamp <= deadline, "expired");
        require(deadline <= block.timestamp + MAX_DEADLINE_DELAY, "deadline too far");
        bytes32 hash = keccak256(abi.encode(WALLET_TYPE_HASH, agentId, newWallet, ownerOf(agentId), deadline));
        bytes32 digest = MessageHashUtils.toTypedDataHash(_domainSeparator(), hash);
        require(SignatureProof.isSigned(newWallet, digest, signature), "invalid wallet sig");
        _setWallet(agentId, abi.encodePacked(newWallet));
    }

    /// @inheritdoc IIdentityRegistry
    function unsetAgentWallet(uint256 agentId) external onlyOperator(agentId) {
        _setWallet(agentId, "");
    }

    /// @inheritdoc IIdentityRegistry
    function getMetadata(uint256 agentId, string memory metadataKey) external view returns (bytes memory) {
        return metadataOf[agentId][metadataKey];
    }

    /// @inheritdoc IIdentityRegistry
    function getAgentWallet(uint256 agentId) external view returns (address) {
        return address(bytes20(metadataOf[agentId][WALLET_KEY]));
    }

    /// @inheritdoc IIdentityRegistry
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool) {
        return _isAuthorized(ownerOf(agentId), spender, agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function getVersion() external pure returns (string memory) {
        return "2.0.0";
    }

    /// @inheritdoc ERC721
    function name() public pure override returns (string memory) {
        return "AgentIdentity";
    }

    /// @inheritdoc ERC721
    function symbol() public pure override returns (string memory) {
        return "AGENT";
    }

    /// @inheritdoc IERC5267
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name_,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (DOMAIN_FIELDS, DOMAIN_NAME, DOMAIN_VERSION, block.chainid, address(this), 0, new uint256[](0));
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override(ERC721URIStorage, IERC165) returns (bool) {
        return super.supportsInterface(interfaceId);
    }

    /// @dev A transfer removes the wallet, which the new owner did not choose.
    function _update(address to, uint256 agentId, address auth) internal override returns (address) {
        if (_ownerOf(agentId) != address(0) && to != address(0)) _setWallet(agentId, "");
        return super._update(to, agentId, auth);
    }

    function _mintAgent() private returns (uint256 agentId) {
        agentId = agentCount++;
        metadataOf[agentId][WALLET_KEY] = abi.encodePacked(msg.sender);
        _safeMint(msg.sender, agentId);
    }

    function _announce(uint256 agentId, string memory agentURI) private {
        emit Registered(agentId, agentURI, msg.sender);
        emit MetadataSet(agentId, WALLET_KEY, WALLET_KEY, abi.encodePacked(msg.sender));
    }

    function _setMetadata(uint256 agentId, string memory key, bytes memory value) private {
        require(keccak256(bytes(key)) != keccak256(bytes(WALLET_KEY)), "reserved key");
        metadataOf[agentId][key] = value;
        emit MetadataSet(agentId, key, key, value);
    }

    function _setWallet(uint256 agentId, bytes memory wallet) private {
        metadataOf[agentId][WALLET_KEY] = wallet;
        emit MetadataSet(agentId, WALLET_KEY, WALLET_KEY, wallet);
    }

    function _domainSeparator() private view returns (bytes32) {
        bytes32 nameHash = keccak256(bytes(DOMAIN_NAME));
        bytes32 versionHash = keccak256(bytes(DOMAIN_VERSION));
        return keccak256(abi.encode(DOMAIN_TYPE_HASH, nameHash, versionHash, block.chainid, address(this)));
    }
}
