// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAgentOracle} from "@pyevm-agents/contracts/callback/IAgentOracle.sol";
import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";
import {PayCallbackAgent} from "../src/PayCallbackAgent.sol";
import {PayTool} from "../src/PayTool.sol";

interface Cheats {
    function envAddress(string calldata name) external view returns (address);
    function startBroadcast() external;
    function stopBroadcast() external;
}

/// @notice Deploys the tool with 1 ether and the agent that may use it, for the oracle at $ORACLE.
contract Deploy {
    Cheats constant vm = Cheats(address(uint160(uint256(keccak256("hevm cheat code")))));

    // One line NAME = 0x… for each address that an instruction may name.
    string constant BASE_PROMPT = "You pay people.\n\n" "Alice = 0x70997970C51812dc3A010C7d01b50e0d17dc79C8\n"
        "Bob = 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

    function run() external returns (PayTool pay, PayCallbackAgent agent) {
        IAgentOracle oracle = IAgentOracle(vm.envAddress("ORACLE"));
        vm.startBroadcast();
        pay = new PayTool{value: 1 ether}(1000);
        IERCAgentTool[] memory tools = new IERCAgentTool[](1);
        tools[0] = pay;
        agent = new PayCallbackAgent(oracle, BASE_PROMPT, tools);
        pay.setAgent(address(agent));
        vm.stopBroadcast();
    }
}
