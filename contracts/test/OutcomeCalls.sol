// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {RunOutcome} from "../libraries/RunOutcome.sol";

/// @title The functions of RunOutcome
contract OutcomeCalls {
    function isDone(string memory answer) external pure returns (bool) {
        return RunOutcome.isDone(answer);
    }

    function requireDone(string memory answer) external pure {
        RunOutcome.requireDone(answer);
    }

    function readNotDone(bytes memory data) external pure returns (bool isNotDone, string memory answer) {
        return RunOutcome.readNotDone(data);
    }
}
