// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";

/// @title The votes of a lending pool's DAO
/// @notice Tokens vote when they are delegated: to their holder, or to somebody else, such as a `VotingAgent`. Votes are
///   counted by time, in seconds.
contract LoanVotes is ERC20, ERC20Permit, ERC20Votes {
    /// @param holder gets all tokens
    /// @param supply in base units of 10^-18
    constructor(address holder, uint256 supply) ERC20("Loan Votes", "LVOTE") ERC20Permit("Loan Votes") {
        _mint(holder, supply);
    }

    /// @notice Returns the time, in Unix seconds.
    function clock() public view override returns (uint48) {
        return uint48(block.timestamp);
    }

    /// @notice Says what `clock` counts.
    function CLOCK_MODE() public pure override returns (string memory) {
        return "mode=timestamp";
    }

    /// @inheritdoc ERC20Permit
    function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }
}
