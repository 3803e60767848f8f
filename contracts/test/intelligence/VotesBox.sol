// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";

/// @title VotesBox
/// @notice A token whose holders vote.
contract VotesBox is ERC20, ERC20Votes {
    /// @param holder Has all tokens.
    constructor(address holder) ERC20("Votes", "VOTE") EIP712("Votes", "1") {
        _mint(holder, 10 ** 24);
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }
}
