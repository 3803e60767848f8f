// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {ERC20Pausable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title TokenBox
/// @notice An ERC-20 token that its owner mints and pauses.
contract TokenBox is ERC20, ERC20Burnable, ERC20Pausable, Ownable {
    /// @param owner_ Owns it, and has all tokens.
    constructor(address owner_) ERC20("Box", "BOX") Ownable(owner_) {
        _mint(owner_, 10 ** 30);
    }

    /// @notice Mint tokens.
    /// @param to Gets them.
    /// @param amount In base units.
    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }

    /// @notice Pause all transfers.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice End the pause.
    function unpause() external onlyOwner {
        _unpause();
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Pausable) {
        super._update(from, to, value);
    }
}

/// @title VaultBox
/// @notice An ERC-4626 vault.
contract VaultBox is ERC4626 {
    /// @param asset_ The token of its assets.
    constructor(IERC20 asset_) ERC20("Vault", "vBOX") ERC4626(asset_) {}
}

/// @title ItemBox
/// @notice An ERC-721 token that minters mint.
contract ItemBox is ERC721, AccessControl {
    bytes32 public constant MINTER = keccak256("MINTER");

    /// @param minter Admin and minter, and has item 1.
    constructor(address minter) ERC721("Item", "ITEM") {
        _grantRole(DEFAULT_ADMIN_ROLE, minter);
        _grantRole(MINTER, minter);
        _mint(minter, 1);
    }

    /// @notice Mint an item.
    /// @param to Gets it.
    /// @param item Its ID.
    function mint(address to, uint256 item) external onlyRole(MINTER) {
        _mint(to, item);
    }

    /// @notice Whether an interface is supported.
    /// @param id Of the interface.
    /// @return Whether it is.
    function supportsInterface(bytes4 id) public view override(ERC721, AccessControl) returns (bool) {
        return super.supportsInterface(id);
    }
}

/// @title MultiBox
/// @notice An ERC-1155 token that its owner mints.
contract MultiBox is ERC1155, Ownable {
    /// @param owner_ Owns it.
    constructor(address owner_) ERC1155("") Ownable(owner_) {}

    /// @notice Mint tokens.
    /// @param to Gets them.
    /// @param id Of the token.
    /// @param amount Of it.
    function mint(address to, uint256 id, uint256 amount) external onlyOwner {
        _mint(to, id, amount, "");
    }
}

/// @title SpenderBox
/// @notice Pulls tokens, with a fee for most.
contract SpenderBox {
    IERC20 public immutable token;
    address public immutable partner;
    uint256 public total;

    /// @param token_ The token that it pulls.
    /// @param partner_ Pays no fee.
    constructor(IERC20 token_, address partner_) {
        token = token_;
        partner = partner_;
    }

    /// @notice Deposit tokens for an account, until a time.
    /// @param amount In base units.
    /// @param least The least that counts.
    /// @param to Whose deposit it is.
    /// @param deadline Unix seconds.
    /// @return counted What counts.
    function deposit(uint256 amount, uint256 least, address to, uint256 deadline) external returns (uint256 counted) {
        require(block.timestamp <= deadline, "too late");
        require(to != address(0), "to nobody");
        require(amount >= 100, "too little");
        counted = msg.sender == partner ? amount : amount * 99 / 100;
        require(counted >= least, "less than least");
        total += counted;
        require(token.transferFrom(msg.sender, address(this), amount), "not transferred");
        require(token.transfer(to, counted), "not transferred");
    }
}

/// @title ProxyBox
/// @notice An ERC-1967 proxy.
contract ProxyBox is ERC1967Proxy {
    /// @param implementation Whose code it runs.
    /// @param data Its first call.
    constructor(address implementation, bytes memory data) ERC1967Proxy(implementation, data) {}
}
