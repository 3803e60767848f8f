// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {Etching} from "./executor/Etching.sol";
import {ReplayAgentExecutor} from "./ReplayAgentExecutor.sol";
import {ReplayNumericModels} from "./ReplayNumericModels.sol";

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

    /// @notice Numeric models, where contracts on pyevm-agents chains call them.
    ReplayNumericModels internal constant MODELS = ReplayNumericModels(address(0x1a));

    /// @notice Puts the executor at 0x19, with forge's cheat code, and forgets what was recorded there.
    function install() internal {
        Etching.etch(address(EXECUTOR), type(ReplayAgentExecutor).runtimeCode);
        EXECUTOR.clear();
    }

    /// @notice Puts the numeric models at 0x1a, with forge's cheat code. `load` of an exported library does it where the
    ///   recorded run used numeric models.
    function installModels() internal returns (ReplayNumericModels) {
        Etching.etch(address(MODELS), type(ReplayNumericModels).runtimeCode);
        return MODELS;
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
