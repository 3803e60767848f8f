// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title AssemblyBox
/// @notice Access checks in assembly, in solady's way.
contract AssemblyBox {
    // solady's.
    uint256 private constant OWNER_SLOT = 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff74873927;
    uint256 private constant ROLES_SEED = 0x8b78c6d8;
    address private immutable DEPLOYER = msg.sender;
    uint256 public value;

    /// @param owner_ Who owns it, and has the first role.
    constructor(address owner_) {
        assembly ("memory-safe") {
            sstore(OWNER_SLOT, owner_)
            mstore(0x0c, ROLES_SEED)
            mstore(0x00, owner_)
            sstore(keccak256(0x0c, 0x20), 3)
        }
    }

    /// @notice Set the value as the owner.
    /// @param value_ Any.
    function setValue(uint256 value_) external {
        assembly ("memory-safe") {
            if iszero(eq(caller(), sload(OWNER_SLOT))) {
                mstore(0x00, 0x82b42900)
                revert(0x1c, 0x04)
            }
        }
        value = value_;
    }

    /// @notice Set the value as the owner; the addresses are compared by xor.
    /// @param value_ Any.
    function setValueByXor(uint256 value_) external {
        assembly ("memory-safe") {
            if xor(caller(), sload(OWNER_SLOT)) { revert(0, 0) }
        }
        value = value_;
    }

    /// @notice Set the value with the second role.
    /// @param value_ Any.
    function setValueByRole(uint256 value_) external {
        assembly ("memory-safe") {
            mstore(0x0c, ROLES_SEED)
            mstore(0x00, caller())
            if iszero(and(sload(keccak256(0x0c, 0x20)), 2)) { revert(0, 0) }
        }
        value = value_;
    }

    /// @notice Set the value as the account that deployed this.
    /// @param value_ Any.
    function setValueAsDeployer(uint256 value_) external {
        require(msg.sender == DEPLOYER, "deployer");
        value = value_;
    }

    /// @notice Set the value as the transaction's sender, who is the deployer.
    /// @param value_ Any.
    function setValueByOrigin(uint256 value_) external {
        require(tx.origin == DEPLOYER, "origin");
        value = value_;
    }
}
