// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ERC2771Forwarder} from "@openzeppelin/contracts/metatx/ERC2771Forwarder.sol";

/// @title Sends signed calls of others
contract RequestForwarder is ERC2771Forwarder {
    constructor() ERC2771Forwarder("Request Forwarder") {}
}
