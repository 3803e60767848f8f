// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Purse} from "./Purse.sol";

/// @title A purse with a mistake: it trusts the model
/// @notice Each payment is held against the limit, and their sum against nothing: a model that pays twice spends
///   twice. That only payees are paid is a wish in the agent's prompt.
contract UnguardedPurse is Purse {
    constructor(address _token, uint256 _limit) Purse(_token, _limit) {}

    function _guard(address, uint256 amount) internal view override {
        if (amount > limit) revert OverLimit(amount, limit);
    }
}
