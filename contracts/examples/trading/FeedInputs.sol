// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {SignedMath} from "@openzeppelin/contracts/utils/math/SignedMath.sol";
import {IModelInputs} from "../../interfaces/IModelInputs.sol";
import {IModelOutput} from "../../interfaces/IModelOutput.sol";
import {PriceFeed} from "./PriceFeed.sol";

/// @title Gives models the returns of a feed's assets, one row for each asset
/// @notice Returns have 6 decimals and are cut to the range of -1 to 1.
contract FeedInputs is IModelInputs {
    /// @notice What a row has.
    enum Row {
        /// The last 5 returns, the oldest first; the change over 20 steps; the mean size of the last 20 returns; the
        /// score of a post with 4 decimals.
        FORECAST,
        /// The last 20 returns, the oldest first.
        RISK
    }

    /// @notice Returns that a row is made of.
    uint256 public constant WINDOW = 20;

    uint256 private constant SHOWN_RETURNS = 5;
    uint256 private constant FORECAST_VALUES = 8;
    int256 private constant MOST = 1e6;

    PriceFeed public immutable feed;

    Row public immutable row;

    /// @notice The tool whose runner's last output is the sentiment; if it is the zero address, the sentiment is 0.
    IModelOutput public immutable sentiment;

    constructor(PriceFeed _feed, Row _row, IModelOutput _sentiment) {
        feed = _feed;
        row = _row;
        sentiment = _sentiment;
    }

    /// @notice Returns the rows. Reverts with `NoOutput` if the runner has no sentiment in this transaction, so that no
    ///   forecast is made without one.
    /// @inheritdoc IModelInputs
    function modelInputs(address runner) external view returns (int256[] memory values) {
        uint256 assets = feed.assetCount();
        uint256 width = row == Row.FORECAST ? FORECAST_VALUES : WINDOW;
        int256 score = address(sentiment) == address(0) ? int256(0) : sentiment.lastOutput(runner)[0];
        values = new int256[](assets * width);
        for (uint256 asset = 0; asset < assets; asset++) {
            int256[] memory returns_ = feed.returnsOf(asset, WINDOW);
            uint256 start = asset * width;
            uint256 shown = row == Row.FORECAST ? SHOWN_RETURNS : WINDOW;
            for (uint256 i = 0; i < shown; i++) values[start + i] = _cut(returns_[WINDOW - shown + i]);
            if (row == Row.RISK) continue;
            values[start + SHOWN_RETURNS] = _cut(feed.changeSince(asset, WINDOW));
            values[start + SHOWN_RETURNS + 1] = _meanSize(returns_);
            values[start + SHOWN_RETURNS + 2] = score;
        }
    }

    function _meanSize(int256[] memory returns_) private pure returns (int256) {
        uint256 sum;
        for (uint256 i = 0; i < returns_.length; i++) sum += SignedMath.abs(returns_[i]);
        return _cut(int256(sum / returns_.length));
    }

    function _cut(int256 value) private pure returns (int256) {
        return SignedMath.max(-MOST, SignedMath.min(MOST, value));
    }
}
