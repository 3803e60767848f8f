// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

/// @title A value behind a proxy that its owner can upgrade
contract UpgradeableValue is Initializable, UUPSUpgradeable {
    /// @notice Somebody else than the owner called.
    error NotOwner(address caller);

    /// @notice Who may store and upgrade.
    address public owner;

    /// @notice The stored value.
    uint256 public value;

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    /// @dev The contract itself has no owner: its proxies have.
    constructor() {
        _disableInitializers();
    }

    /// @notice Sets the owner, once.
    function initialize(address owner_) external initializer {
        owner = owner_;
    }

    /// @notice Stores a value. For the owner.
    function store(uint256 value_) external onlyOwner {
        value = value_;
    }

    /// @notice Adds one to the value. For everybody.
    function increment() external {
        value += 1;
    }

    function _authorizeUpgrade(address) internal override onlyOwner {}
}
