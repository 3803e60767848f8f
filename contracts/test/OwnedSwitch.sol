// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title A switch that its owner alone may turn
contract OwnedSwitch {
    /// @notice Somebody else than the owner tried to turn it.
    error NotOwner(address caller);

    address public immutable owner;
    bool public isOn;

    /// @param _owner who may turn it
    constructor(address _owner) {
        owner = _owner;
    }

    /// @notice Turns the switch. For the owner.
    function adminFunction() external {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        isOn = !isOn;
    }
}
