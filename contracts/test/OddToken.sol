// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title A token that doesn't answer as ERC-20 asks
/// @notice Like several tokens in use, it returns nothing, or false, where others return true or revert.
///   It can also keep a fee of one base unit per transfer. Everybody has an unlimited allowance.
contract OddToken {
    enum Answer {
        NOTHING,
        FALSE,
        FEE // returns true, but one base unit less arrives
    }

    Answer public immutable answer;
    uint8 public immutable decimals;
    mapping(address account => uint256) public balanceOf;

    constructor(Answer _answer, uint8 _decimals, uint256 supply) {
        answer = _answer;
        decimals = _decimals;
        balanceOf[msg.sender] = supply;
    }

    function approve(address, uint256) external view {
        _answerWith(answer != Answer.FALSE);
    }

    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private {
        if (answer == Answer.FALSE) _answerWith(false);
        balanceOf[from] -= value;
        balanceOf[to] += answer == Answer.FEE ? value - 1 : value;
        _answerWith(true);
    }

    /// @dev Ends the call.
    function _answerWith(bool success) private view {
        uint256 size = answer == Answer.NOTHING ? 0 : 32;
        assembly ("memory-safe") {
            mstore(0, success)
            return(0, size)
        }
    }
}
