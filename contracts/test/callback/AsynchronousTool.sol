// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentClient} from "../../interfaces/IERCAgentClient.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title An asynchronous tool without parameters, whose results a test hands in
contract AsynchronousTool is IERCAgentTool {
    /// @dev Early: the result comes before `run` returns. Wrong: with another run ID than `run` returns. Repeated: every
    ///   run has the ID 0. EarlyThenSynchronous: an early result, and another one that `run` returns.
    enum Behaviour {
        Later,
        Early,
        EarlyTwice,
        EarlyWrong,
        EarlyThenRevert,
        EarlyThenSynchronous,
        Repeated,
        Negative
    }

    error ToolRefused();

    Behaviour public immutable behaviour;
    int256 public runCount;
    mapping(int256 runId => address) private handlerOf;

    constructor(Behaviour _behaviour) {
        behaviour = _behaviour;
    }

    function name() external pure returns (string memory) {
        return "AsynchronousTool";
    }

    function description() external pure returns (string memory) {
        return "Answers later";
    }

    function inputDescription() external pure returns (InputDescription memory description_) {}

    /// @notice Starts a run. The first one's ID is 0.
    function run(Input memory, address resultHandler) external returns (int256 runId, string memory result) {
        runId = behaviour == Behaviour.Repeated ? int256(0) : runCount;
        runCount++;
        handlerOf[runId] = resultHandler;
        if (behaviour == Behaviour.Negative) return (-2, "");
        if (behaviour == Behaviour.EarlyWrong) finish(runId + 1, "early");
        else if (behaviour != Behaviour.Later && behaviour != Behaviour.Repeated) finish(runId, "early");
        if (behaviour == Behaviour.EarlyTwice) finish(runId, "early again");
        if (behaviour == Behaviour.EarlyThenRevert) revert ToolRefused();
        if (behaviour == Behaviour.EarlyThenSynchronous) return (-1, "at once");
    }

    /// @notice Hands a result to the last run's handler, or to that of the run if there is one.
    function finish(int256 runId, string memory result) public {
        address handler = handlerOf[runId] == address(0) ? handlerOf[runCount - 1] : handlerOf[runId];
        IERCAgentClient(handler).handleAgentResult(runId, result);
    }
}
