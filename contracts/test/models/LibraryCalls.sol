// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ExactScaling} from "../../adapters/ExactScaling.sol";
import {MeanVariance} from "../../examples/trading/MeanVariance.sol";
import {FixedPointText} from "../../libraries/FixedPointText.sol";
import {TextFeatures} from "../../libraries/TextFeatures.sol";

/// @title The internal functions of libraries, for tests; each says what it cost
contract LibraryCalls {
    function features(string memory text, uint256 words, uint256 buckets)
        external
        view
        returns (int256[] memory found, uint256 gas)
    {
        gas = gasleft();
        found = TextFeatures.features(text, words, buckets);
        gas -= gasleft();
    }

    function optimize(MeanVariance.Problem memory problem)
        external
        view
        returns (int256[] memory weights, uint256 gas)
    {
        gas = gasleft();
        weights = MeanVariance.optimize(problem);
        gas -= gasleft();
    }

    function format(int256 value, uint8 decimals, uint8 shown) external pure returns (string memory) {
        return FixedPointText.format(value, decimals, shown);
    }

    function parse(string memory text, uint8 decimals) external pure returns (int256) {
        return FixedPointText.parse(text, decimals);
    }

    function fromFloat(uint32 bits, uint256 factor, ExactScaling.Rounding rounding) external pure returns (int256) {
        return ExactScaling.fromFloat(bits, factor, rounding);
    }

    function toFloat(int256 value, uint256 divisor, ExactScaling.Rounding rounding) external pure returns (uint32) {
        return ExactScaling.toFloat(value, divisor, rounding);
    }
}
