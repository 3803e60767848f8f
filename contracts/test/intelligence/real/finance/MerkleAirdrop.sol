// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

/// @title Pays a token to the accounts of a Merkle tree
contract MerkleAirdrop is Ownable {
    using SafeERC20 for IERC20;

    /// @notice The tree does not have this account with this amount.
    error InvalidProof();

    /// @notice The account was paid.
    error AlreadyClaimed(address account);

    /// @notice The token that is paid.
    IERC20 public immutable token;

    /// @notice Root of the tree.
    bytes32 public root;

    /// @notice Whether an account was paid.
    mapping(address account => bool) public hasClaimed;

    /// @param token_ the token that is paid
    /// @param root_ root of the tree of `keccak256(abi.encode(account, amount))`
    /// @param owner_ may change the root and take what is left
    constructor(IERC20 token_, bytes32 root_, address owner_) Ownable(owner_) {
        token = token_;
        root = root_;
    }

    /// @notice Pays an account of the tree. Anybody may call it.
    function claim(address account, uint256 amount, bytes32[] calldata proof) external {
        if (hasClaimed[account]) revert AlreadyClaimed(account);
        bytes32 leaf = keccak256(abi.encode(account, amount));
        if (!MerkleProof.verifyCalldata(proof, root, leaf)) revert InvalidProof();
        hasClaimed[account] = true;
        token.safeTransfer(account, amount);
    }

    /// @notice Changes the tree. For the owner.
    function setRoot(bytes32 root_) external onlyOwner {
        root = root_;
    }

    /// @notice Takes `amount` base units out. For the owner.
    function sweep(address to, uint256 amount) external onlyOwner {
        token.safeTransfer(to, amount);
    }
}
