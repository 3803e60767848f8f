// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title OnceBox
/// @notice Functions that revert for everybody, as those of a Safe, and some that revert now alone.
contract OnceBox {
    uint256 public threshold;
    bool public isOpen;
    uint256 public value;
    address public keeper;
    mapping(address owner => bool isOwner) public isOwner;

    /// @param owner The first owner.
    constructor(address owner) {
        isOwner[owner] = true;
        threshold = 1;
    }

    /// @notice Set the owners. It runs once.
    function setup(address[] calldata owners, uint256 threshold_) external {
        require(threshold == 0, "GS200");
        require(threshold_ > 0 && threshold_ <= owners.length, "GS201");
        for (uint256 i = 0; i < owners.length; i++) {
            isOwner[owners[i]] = true;
        }
        threshold = threshold_;
    }

    /// @notice Name the keeper. It runs once, and nobody has called it.
    function appoint(address keeper_) external {
        require(keeper == address(0), "appointed");
        require(keeper_ != address(0), "nobody");
        keeper = keeper_;
    }

    /// @notice Run code, and undo what it did.
    function simulateAndRevert(address target, bytes memory data) external {
        assembly ("memory-safe") {
            let isSuccess := delegatecall(gas(), target, add(data, 0x20), mload(data), 0, 0)
            let pointer := mload(0x40)
            mstore(pointer, isSuccess)
            mstore(add(pointer, 0x20), returndatasize())
            returndatacopy(add(pointer, 0x40), 0, returndatasize())
            revert(pointer, add(returndatasize(), 0x40))
        }
    }

    /// @notice A function of an earlier version.
    function renounce(uint256 amount) external pure {
        require(amount > 5, "too little");
        revert("not any more");
    }

    /// @notice Open and close the box, as anybody may.
    function open() external {
        require(!isOpen, "open");
        isOpen = true;
    }

    /// @notice Close the box again.
    function close() external {
        require(isOpen, "closed");
        isOpen = false;
    }
}
