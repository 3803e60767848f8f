// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {WalletAgent} from "@pyevm-agents/contracts/examples/wallet/WalletAgent.sol";
import {AgentIterationResult} from "@pyevm-agents/contracts/interfaces/IERCAgentExecutor.sol";
import {vm} from "../src/Cheats.sol";

/// @notice Runs an agent from a script: `forge script --broadcast --skip-simulation`.
/// @dev A script is executed in forge's own EVM first, which has no model. There the executor is mocked: the agent
///   has an answer at once. The transaction that is then sent is run by the node, with the model, and the node
///   estimates its gas.
contract Instruct {
    function run() external {
        WalletAgent agent = WalletAgent(vm.envAddress("AGENT"));
        AgentIterationResult memory anything;
        anything.isFinalAnswer = true;
        vm.mockCall(address(0x19), "", abi.encode(anything));
        vm.startBroadcast();
        agent.instruct("Deposit 10 USDC into the pool");
        vm.stopBroadcast();
    }

    /// @notice The same without the mock: what a script gets that doesn't know.
    function unprepared() external {
        vm.startBroadcast();
        WalletAgent(vm.envAddress("AGENT")).instruct("Deposit 10 USDC into the pool");
        vm.stopBroadcast();
    }
}
