// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {AgentScript} from "@pyevm-agents/contracts/test/AgentScript.sol";
import {ScriptedAgentExecutor} from "@pyevm-agents/contracts/test/ScriptedAgentExecutor.sol";
import {Wallet} from "./Wallet.sol";

/// @notice An agent whose model says what the test tells it to.
contract ScriptedTest is Wallet {
    function setUp() public {
        AgentScript.install();
        deployWallet();
    }

    function test_TheAgentDeposits() public {
        AgentScript.use("DeployTool", abi.encode(usdc, 10));
        AgentScript.answer("Deposited.");

        requireEqual(agent.instruct("Deposit 10 USDC"), "Deposited.");

        require(inPool() == 10e6, "the pool has another amount");
        AgentScript.assertDone();
    }

    /// @notice The worst that a model can do with this wallet, whatever it is told: see that the guard holds.
    function test_TheAgentCannotDepositMoreThanThereIs() public {
        AgentScript.use("DeployTool", abi.encode(usdc, type(uint256).max));
        try agent.instruct("Deposit all of it") {
            revert("it did");
        } catch {
            require(inPool() == 0, "something was left in the pool");
        }
    }

    /// @notice A model can't invent an address, so a script can't either.
    function test_AScriptCannotSayWhatNoModelCould() public {
        AgentScript.use("DeployTool", abi.encode(address(0xBAD), 10));
        try agent.instruct("Deposit 10 USDC") {
            revert("it did");
        } catch (bytes memory reason) {
            require(bytes4(reason) == ScriptedAgentExecutor.NotSayable.selector, "another error");
        }
    }

    function test_AScriptThatEndsEarlySaysSo() public {
        AgentScript.use("DeployTool", abi.encode(usdc, 10));
        try agent.instruct("Deposit 10 USDC") {
            revert("it did");
        } catch (bytes memory reason) {
            bytes memory expected =
                abi.encodeWithSelector(ScriptedAgentExecutor.ScriptUsedUp.selector, 1, "Deposit 10 USDC", 1);
            require(keccak256(reason) == keccak256(expected), "another error");
        }
    }
}
