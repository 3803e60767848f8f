// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Etching} from "./executor/Etching.sol";
import {ReplayAgentExecutor} from "./ReplayAgentExecutor.sol";

/// @title What a recorded model says, in a test in Solidity
/// @notice In a forge test, with a library that `pyevm-agents export-replay` wrote:
///
///     AgentReplay.install();
///     WalletReplay.load();
///     agent.instruct("Deposit 10 USDC into the pool");
///     AgentReplay.assertDone();
library AgentReplay {
    /// @notice The executor, where agents on pyevm-agents chains call it.
    ReplayAgentExecutor internal constant EXECUTOR = ReplayAgentExecutor(address(0x19));

    /// @notice Puts the executor at 0x19, with forge's cheat code, and forgets what was recorded there.
    function install() internal {
        Etching.etch(address(EXECUTOR), type(ReplayAgentExecutor).runtimeCode);
        EXECUTOR.clear();
    }

    /// @notice Reverts unless every recorded step was asked for.
    function assertDone() internal view {
        EXECUTOR.assertDone();
    }

    /// @notice Returns the gas that the recorded model took for what was replayed so far.
    function inferenceGas() internal view returns (uint256) {
        return EXECUTOR.inferenceGas();
    }
}
