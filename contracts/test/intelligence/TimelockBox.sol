// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";

/// @title TimelockBox
/// @notice OpenZeppelin's timelock.
contract TimelockBox is TimelockController {
    /// @param proposers Propose and cancel.
    /// @param executors Execute.
    /// @param admin Grants roles.
    constructor(address[] memory proposers, address[] memory executors, address admin)
        TimelockController(1 days, proposers, executors, admin)
    {}
}
