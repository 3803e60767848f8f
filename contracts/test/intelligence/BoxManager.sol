// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessManager} from "@openzeppelin/contracts/access/manager/AccessManager.sol";

/// @title BoxManager
/// @notice OpenZeppelin's AccessManager.
contract BoxManager is AccessManager {
    /// @param admin The first admin.
    constructor(address admin) AccessManager(admin) {}
}
