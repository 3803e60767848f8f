// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Pays out something else when a minimum is asked for than when none is, as when it is tried
contract FickleExchange {
    /// @notice Less would be paid out than asked for.
    error TooLittle(uint256 paid, uint256 least);

    /// @notice Units for each unit without a minimum, and with one.
    uint256 public immutable trialPrice;
    uint256 public immutable realPrice;

    /// @notice Whether the minimum is kept.
    bool public immutable isHonest;

    /// @notice What the last exchange paid out, and its minimum.
    uint256 public lastPaid;
    uint256 public lastLeast;

    constructor(uint256 _trialPrice, uint256 _realPrice, bool _isHonest) {
        (trialPrice, realPrice, isHonest) = (_trialPrice, _realPrice, _isHonest);
    }

    /// @notice Pays out one amount.
    function exchange(uint256 amount, uint256 least) public returns (uint256 paid) {
        paid = amount * (least == 0 ? trialPrice : realPrice);
        if (isHonest && paid < least) revert TooLittle(paid, least);
        (lastPaid, lastLeast) = (paid, least);
    }

    /// @notice Pays out the last of a list of amounts.
    function exchangeAlong(uint256 amount, uint256 least) external returns (bool isDone, uint256[] memory amounts) {
        amounts = new uint256[](3);
        (amounts[0], amounts[1], amounts[2]) = (amount, 7, exchange(amount, least));
        return (true, amounts);
    }

    /// @notice Returns an empty list.
    function exchangeNothing(uint256, uint256) external pure returns (uint256[] memory) {}
}
