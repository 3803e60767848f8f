// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @dev One call stores how much of a token another one moves; the other number moves nothing.
contract StallBox {
    struct Offer {
        address seller;
        uint256 asked;
        uint256 label;
    }

    IERC20 private immutable TOKEN;
    mapping(uint256 item => Offer offer) private _offers;

    error OwnOffer(uint256 item);
    error UnknownOffer(uint256 item);

    constructor(IERC20 token) {
        TOKEN = token;
    }

    function put(uint256 item, uint256 asked, uint256 label) external {
        _offers[item] = Offer(msg.sender, asked, label);
    }

    function take(uint256 item) external {
        Offer memory offer = _offers[item];
        if (offer.seller == address(0)) revert UnknownOffer(item);
        if (offer.seller == msg.sender) revert OwnOffer(item);
        TOKEN.transferFrom(msg.sender, offer.seller, offer.asked);
    }
}
