// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

/// @title OpenZeppelin's timelock
contract GovernanceTimelock is TimelockController {
    /// @param proposers may schedule and cancel
    /// @param executors may execute
    /// @param admin grants and revokes roles
    constructor(address[] memory proposers, address[] memory executors, address admin)
        TimelockController(2 days, proposers, executors, admin)
    {}
}
