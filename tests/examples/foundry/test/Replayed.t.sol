// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {AgentReplay} from "@pyevm-agents/contracts/test/AgentReplay.sol";
import {ReplayAgentExecutor} from "@pyevm-agents/contracts/test/ReplayAgentExecutor.sol";
import {Wallet} from "./Wallet.sol";
import {WalletReplay} from "./WalletReplay.sol";

/// @notice An agent whose model says what a real one said: `pyevm-agents export-replay --fixture wallet`.
contract ReplayedTest is Wallet {
    function setUp() public {
        AgentReplay.install();
        WalletReplay.load();
        deployWallet();
        // As on the recorded chain: the pool has 500 already.
        usdc.transfer(address(agent.account()), 500e6);
        agent.account().ownerDeposit(address(usdc), 500e6);
    }

    /// @notice Nothing is where it was when it was recorded, and the model says of these contracts what it said of those.
    function test_TheModelDeposits() public {
        agent.instruct("Deposit 10 USDC into the pool");

        require(inPool() == 510e6, "the pool has another amount");
        require(AgentReplay.inferenceGas() == 0, "other gas");
    }

    function test_TheModelDoesAllThatWasRecorded() public {
        agent.instruct("Deposit 10 USDC into the pool");
        agent.instruct("What is my USDC balance?");

        AgentReplay.assertDone();
        require(AgentReplay.inferenceGas() == WalletReplay.INFERENCE_GAS, "other gas");
    }

    function test_WhatWasNotRecordedIsRefused() public {
        try agent.instruct("Deposit 11 USDC into the pool") {
            revert("it did");
        } catch (bytes memory reason) {
            bytes memory expected = abi.encodeWithSelector(
                ReplayAgentExecutor.NotRecorded.selector,
                0,
                "prompt",
                "Deposit 10 USDC into the pool",
                "Deposit 11 USDC into the pool"
            );
            require(keccak256(reason) == keccak256(expected), "another error");
        }
    }
}
