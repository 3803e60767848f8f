// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title DealBox
/// @notice Deals that anybody may open, and that the opener alone may close.
contract DealBox {
    struct Deal {
        uint128 amount;
        address opener;
        bool isClosed;
    }

    /// @notice The deal is not the caller's.
    error NotTheOpener();

    uint256 public count;
    mapping(uint256 number => Deal deal) public deals;

    /// @param first Has opened the first deal.
    constructor(address first) {
        deals[++count] = Deal({amount: 5, opener: first, isClosed: false});
    }

    /// @notice Open a deal.
    /// @return number Its number.
    function open(uint128 amount) external returns (uint256 number) {
        number = ++count;
        deals[number] = Deal({amount: amount, opener: msg.sender, isClosed: false});
    }

    /// @notice Close a deal of the caller.
    function close(uint256 number) external {
        if (deals[number].opener != msg.sender) revert NotTheOpener();
        deals[number].isClosed = true;
    }
}
