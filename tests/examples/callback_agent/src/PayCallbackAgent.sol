// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {CallbackAgent} from "@pyevm-agents/contracts/callback/CallbackAgent.sol";
import {IAgentOracle} from "@pyevm-agents/contracts/callback/IAgentOracle.sol";
import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";

/// @title An agent that pays people on its owner's instructions, by an oracle
contract PayCallbackAgent is CallbackAgent {
    constructor(IAgentOracle oracle, string memory basePrompt, IERCAgentTool[] memory tools)
        CallbackAgent(
            OracleSettings({
                oracle: oracle,
                callbackGasLimit: 1_500_000, // of each answer; `pyevm-agents estimate --callback` tells
                stepTimeout: 10 minutes, // for a worker's answer
                runTimeout: 1 hours // for the run
            }),
            "default", // the workers' default model
            "PayAgent", // its name and description, for agents that use it as a tool
            "Pays people",
            "Whom to pay, and how much",
            basePrompt,
            tools,
            4 // steps of a run, at most; a run reserves the fee of all
        )
    {}

    /// @dev The owner and the callers whom it allowed start runs, also with their own ether.
    function _authorize(address caller, bool) internal view override {
        if (!isCaller(caller)) revert CallerNotAllowed(caller);
    }
}
