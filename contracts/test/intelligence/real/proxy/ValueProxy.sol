// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";

/// @title An ERC-1967 proxy
contract ValueProxy is ERC1967Proxy {
    /// @param implementation where calls go
    /// @param data the first call
    constructor(address implementation, bytes memory data) ERC1967Proxy(implementation, data) {}
}
