// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {UpgradeableBeacon} from "@openzeppelin/contracts/proxy/beacon/UpgradeableBeacon.sol";

/// @title A beacon that tells proxies their implementation
contract ValueBeacon is UpgradeableBeacon {
    /// @param implementation_ the first implementation
    /// @param owner_ may upgrade
    constructor(address implementation_, address owner_) UpgradeableBeacon(implementation_, owner_) {}
}
