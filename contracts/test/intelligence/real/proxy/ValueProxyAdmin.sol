// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ProxyAdmin} from "@openzeppelin/contracts/proxy/transparent/ProxyAdmin.sol";

/// @title The admin that a transparent proxy deploys
contract ValueProxyAdmin is ProxyAdmin {
    /// @param owner_ may upgrade
    constructor(address owner_) ProxyAdmin(owner_) {}
}
