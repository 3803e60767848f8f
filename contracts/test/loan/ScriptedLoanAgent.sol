// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ILoanAgent} from "../../examples/loan/ILoanAgent.sol";

/// @title Decides by calling what it was told to
/// @notice It is its own tools: a pool and a book can name it for every part.
contract ScriptedLoanAgent is ILoanAgent {
    struct Step {
        address target;
        bytes data;
    }

    Step[] private steps;
    string private answer;

    /// @notice What the pool gave it the last time.
    string public application;

    /// @notice Replaces the steps. Anybody may.
    function script(Step[] calldata _steps, string calldata _answer) external {
        delete steps;
        for (uint256 i = 0; i < _steps.length; i++) steps.push(_steps[i]);
        answer = _answer;
    }

    /// @inheritdoc ILoanAgent
    function decide(string calldata text) external returns (string memory) {
        application = text;
        for (uint256 i = 0; i < steps.length; i++) {
            (bool success, bytes memory output) = steps[i].target.call(steps[i].data);
            if (success) continue;
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
        return answer;
    }
}
