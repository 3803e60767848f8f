// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Purse} from "./Purse.sol";

/// @title A purse that holds whatever the model says
/// @notice The sum of a day is held against the limit, and payees are a list in storage.
contract GuardedPurse is Purse {
    /// @notice The owner did not add this account to the payees.
    error NotPayee(address account);

    /// @notice What was paid on each day, in whole tokens; days are counted from 1970, in UTC.
    mapping(uint256 day => uint256) public paidOn;

    constructor(address _token, uint256 _limit) Purse(_token, _limit) {}

    function _guard(address to, uint256 amount) internal override {
        if (!isPayee[to]) revert NotPayee(to);

        uint256 day = block.timestamp / 1 days;
        if (amount > limit - paidOn[day]) revert OverLimit(amount, limit - paidOn[day]);
        paidOn[day] += amount;
    }
}
