// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {PredictionMarket} from "../../examples/council/PredictionMarket.sol";

/// @title Stakes on yes, and claims again while it is paid
contract MarketRobber {
    PredictionMarket private market;

    /// @notice What the second claim met; empty if it succeeded.
    bytes public secondClaim;

    receive() external payable {
        try market.claim() {}
        catch (bytes memory reason) {
            secondClaim = reason;
        }
    }

    function stake(PredictionMarket market_) external payable {
        market = market_;
        market_.stake{value: msg.value}(true, msg.value);
    }

    function claim() external {
        market.claim();
    }
}
