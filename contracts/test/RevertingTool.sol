// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title A tool without parameters whose `run` reverts
contract RevertingTool is IERCAgentTool {
    /// @notice The tool was called for the `call`-th time, counted from 1.
    error ToolRefused(uint256 call);

    /// @notice The call that reverts, counted from 1; 0: every call.
    uint256 public immutable refusedCall;

    /// @notice How many calls succeeded.
    uint256 public calls;

    constructor(uint256 _refusedCall) {
        refusedCall = _refusedCall;
    }

    function name() external pure returns (string memory) {
        return "RevertingTool";
    }

    function description() external pure returns (string memory) {
        return "Does something that may fail";
    }

    function inputDescription() external pure returns (InputDescription memory description_) {}

    function run(Input memory, address) external returns (int256, string memory) {
        calls++;
        if (refusedCall == 0 || refusedCall == calls) revert ToolRefused(calls);
        return (-1, "Done");
    }
}
