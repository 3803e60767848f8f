// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {AgentIterationResult} from "../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {Etching} from "./executor/Etching.sol";
import {ScriptedAgentExecutor} from "./ScriptedAgentExecutor.sol";

/// @title What a test in Solidity makes a model say
/// @notice In a forge test:
///
///     AgentScript.install();
///     AgentScript.use("DeployTool", abi.encode(usdc, 10));
///     AgentScript.answer("Done.");
///     agent.instruct("Deposit 10 USDC");
///     AgentScript.assertDone();
library AgentScript {
    /// @notice The executor, where agents on pyevm-agents chains call it.
    ScriptedAgentExecutor internal constant EXECUTOR = ScriptedAgentExecutor(address(0x19));

    /// @notice Puts the executor at 0x19, with forge's cheat code, and forgets the script that was there.
    function install() internal {
        Etching.etch(address(EXECUTOR), type(ScriptedAgentExecutor).runtimeCode);
        EXECUTOR.clear();
    }

    /// @notice Adds a step that uses a tool without arguments.
    function use(string memory tool) internal {
        EXECUTOR.use(tool, "", "");
    }

    /// @notice Adds a step that uses a tool.
    /// @param arguments `abi.encode` of its arguments
    function use(string memory tool, bytes memory arguments) internal {
        EXECUTOR.use(tool, arguments, "");
    }

    /// @notice Adds a step that uses a tool.
    /// @param thought what the model says first
    function use(string memory tool, bytes memory arguments, string memory thought) internal {
        EXECUTOR.use(tool, arguments, thought);
    }

    /// @notice Adds a step that uses a tool, given by its address.
    function use(IERCAgentTool tool, bytes memory arguments) internal {
        EXECUTOR.use(tool.name(), arguments, "");
    }

    /// @notice Adds the step that ends a run.
    function answer(string memory text) internal {
        EXECUTOR.answer(text, "");
    }

    /// @notice Adds the step that ends a run.
    /// @param thought what the model says first
    function answer(string memory text, string memory thought) internal {
        EXECUTOR.answer(text, thought);
    }

    /// @notice Adds a step that returns this, whether or not a model could have said it.
    function giveResult(AgentIterationResult memory result) internal {
        EXECUTOR.giveResult(abi.encode(result));
    }

    /// @notice Adds a step that reverts with these data, such as
    ///   `abi.encodeWithSelector(IAgentExecutorErrors.OutputTooLong.selector, 512)`.
    function fail(bytes memory data) internal {
        EXECUTOR.fail(data);
    }

    /// @notice Reverts unless every step was asked for.
    function assertDone() internal view {
        EXECUTOR.assertDone();
    }
}
