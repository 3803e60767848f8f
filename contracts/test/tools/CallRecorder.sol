// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Takes any call: keeps its sender, wei and data, and answers as it was set
contract CallRecorder {
    address public sender;
    uint256 public value;
    bytes public data;
    uint256 public calls;

    bytes private answer;
    bytes private reason;
    uint256 private answerSize;
    address private callee;
    bytes private calleeData;

    /// @notice Sets what the next calls return.
    function setAnswer(bytes calldata _answer) external {
        answer = _answer;
    }

    /// @notice Sets what the next calls revert with; empty for calls that succeed.
    function setReason(bytes calldata _reason) external {
        reason = _reason;
    }

    /// @notice Lets the next calls return, or revert with, so many zero bytes.
    function setAnswerSize(uint256 size) external {
        answerSize = size;
    }

    /// @notice Lets the next calls call another contract first, and revert with what it reverts with.
    function setCallee(address _callee, bytes calldata _calleeData) external {
        callee = _callee;
        calleeData = _calleeData;
    }

    fallback() external payable {
        (sender, value, data) = (msg.sender, msg.value, msg.data);
        calls++;
        if (callee != address(0)) {
            (bool success, bytes memory failure) = callee.call(calleeData);
            if (!success) _revert(failure);
        }
        if (reason.length != 0) _revert(reason);
        bytes memory output = answer;
        uint256 size = answerSize;
        assembly ("memory-safe") {
            if size { return(mload(0x40), size) }
            return(add(output, 32), mload(output))
        }
    }

    receive() external payable {}

    function _revert(bytes memory output) private pure {
        assembly ("memory-safe") {
            revert(add(output, 32), mload(output))
        }
    }
}
