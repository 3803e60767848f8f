// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title A token with allowances that doesn't answer as ERC-20 asks
contract RewardToken {
    enum Answer {
        Nothing, // returns nothing, and reverts on failure
        False, // returns false, and moves nothing
        Fee, // returns true, but a tenth less arrives
        True
    }

    Answer public immutable answer;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    constructor(Answer answer_, uint256 supply) {
        answer = answer_;
        balanceOf[msg.sender] = supply;
    }

    function approve(address spender, uint256 value) external {
        allowance[msg.sender][spender] = value;
        _return(true);
    }

    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        if (answer != Answer.False) allowance[from][msg.sender] -= value;
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private {
        if (answer == Answer.False) _return(false);
        balanceOf[from] -= value;
        balanceOf[to] += answer == Answer.Fee ? value - value / 10 : value;
        _return(true);
    }

    /// @dev Ends the call.
    function _return(bool success) private view {
        uint256 size = answer == Answer.Nothing ? 0 : 32;
        assembly ("memory-safe") {
            mstore(0, success)
            return(0, size)
        }
    }
}
