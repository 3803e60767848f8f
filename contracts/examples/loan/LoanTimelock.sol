// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

/// @title Holds what a lending pool's DAO owns, and does what it decided after a delay
contract LoanTimelock is TimelockController {
    /// @param delay seconds between a decision and what it does
    /// @param admin grants the governor the roles that it needs, and gives up its own
    constructor(uint256 delay, address admin)
        TimelockController(delay, new address[](0), new address[](0), admin)
    {}
}
