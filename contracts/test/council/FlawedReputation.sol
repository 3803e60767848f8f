// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {CouncilReputation} from "../../council/CouncilReputation.sol";
import {IIdentityRegistry} from "../../runs/registries/IIdentityRegistry.sol";
import {IReputationRegistry} from "../../runs/registries/IReputationRegistry.sol";

/// @title A source of reputation that counts everybody's questions. For tests: scores can be farmed
contract FlawedReputation is CouncilReputation {
    constructor(IIdentityRegistry identities_, IReputationRegistry feedback_, address[] memory clients_)
        CouncilReputation(identities_, feedback_, clients_)
    {}

    function _counts(uint256) internal pure override returns (bool) {
        return true;
    }
}
