// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {TransparentUpgradeableProxy} from "@openzeppelin/contracts/proxy/transparent/TransparentUpgradeableProxy.sol";

/// @title A proxy that its admin alone can upgrade
contract AdminProxy is TransparentUpgradeableProxy {
    /// @param logic where calls go
    /// @param owner owner of the proxy's admin, which the constructor deploys
    /// @param data the first call
    constructor(address logic, address owner, bytes memory data) TransparentUpgradeableProxy(logic, owner, data) {}
}
