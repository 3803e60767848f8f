// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";

/// @title ProxyBox
/// @notice An ERC-1967 proxy.
contract ProxyBox is ERC1967Proxy {
    /// @param implementation Whose code it runs.
    /// @param data Its first call.
    constructor(address implementation, bytes memory data) ERC1967Proxy(implementation, data) {}
}
