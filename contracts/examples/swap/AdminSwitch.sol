// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title A switch that its owner alone may turn
contract AdminSwitch is Ownable {
    /// @notice Whether the switch is on.
    bool public isOn;

    /// @param owner_ who may turn it
    constructor(address owner_) Ownable(owner_) {}

    /// @notice Turns the switch. For the owner.
    function adminFunction() external onlyOwner {
        isOn = !isOn;
    }
}
