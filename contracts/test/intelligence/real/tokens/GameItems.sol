// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AccessControlEnumerable} from "@openzeppelin/contracts/access/extensions/AccessControlEnumerable.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC1155Burnable} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Burnable.sol";
import {ERC1155Pausable} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Pausable.sol";
import {ERC1155Supply} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Supply.sol";

/// @title ERC-1155 items with roles that can be listed
contract GameItems is ERC1155Burnable, ERC1155Pausable, ERC1155Supply, AccessControlEnumerable {
    bytes32 public constant KEEPER_ROLE = keccak256("KEEPER_ROLE");

    /// @param admin grants and revokes roles
    /// @param keeper may mint, pause and set the URI
    constructor(address admin, address keeper) ERC1155("ipfs://items/{id}") {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(KEEPER_ROLE, keeper);
    }

    /// @notice Creates items for `to`. For keepers.
    function mint(address to, uint256 id, uint256 amount, bytes calldata data) external onlyRole(KEEPER_ROLE) {
        _mint(to, id, amount, data);
    }

    /// @notice Creates items of several kinds for `to`. For keepers.
    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata amounts, bytes calldata data)
        external
        onlyRole(KEEPER_ROLE)
    {
        _mintBatch(to, ids, amounts, data);
    }

    /// @notice Sets the URI of all items. For keepers.
    function setURI(string calldata uri_) external onlyRole(KEEPER_ROLE) {
        _setURI(uri_);
    }

    /// @notice Stops transfers. For keepers.
    function pause() external onlyRole(KEEPER_ROLE) {
        _pause();
    }

    /// @notice Allows transfers again. For keepers.
    function unpause() external onlyRole(KEEPER_ROLE) {
        _unpause();
    }

    /// @inheritdoc ERC1155
    function supportsInterface(bytes4 interfaceId)
        public
        view
        override(ERC1155, AccessControlEnumerable)
        returns (bool)
    {
        return super.supportsInterface(interfaceId);
    }

    function _update(address from, address to, uint256[] memory ids, uint256[] memory values)
        internal
        override(ERC1155, ERC1155Pausable, ERC1155Supply)
    {
        super._update(from, to, ids, values);
    }
}
