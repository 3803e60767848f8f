// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {VestingWallet} from "@openzeppelin/contracts/finance/VestingWallet.sol";
import {VestingWalletCliff} from "@openzeppelin/contracts/finance/VestingWalletCliff.sol";

/// @title A wallet that releases what it holds over time
contract Vesting is VestingWalletCliff {
    /// @param beneficiary gets what is released
    /// @param start seconds since 1970
    /// @param duration in seconds
    /// @param cliff_ seconds before which nothing is released
    constructor(address beneficiary, uint64 start, uint64 duration, uint64 cliff_)
        payable
        VestingWallet(beneficiary, start, duration)
        VestingWalletCliff(cliff_)
    {}
}
