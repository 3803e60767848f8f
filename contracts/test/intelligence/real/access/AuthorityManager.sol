// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AccessManager} from "@openzeppelin/contracts/access/manager/AccessManager.sol";

/// @title OpenZeppelin's access manager
contract AuthorityManager is AccessManager {
    /// @param admin the first holder of the admin role
    constructor(address admin) AccessManager(admin) {}
}
