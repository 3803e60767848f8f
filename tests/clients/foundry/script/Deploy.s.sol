// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {WalletAgent} from "@pyevm-agents/contracts/examples/wallet/WalletAgent.sol";
import {LiquidityPool} from "@pyevm-agents/contracts/examples/pool/LiquidityPool.sol";
import {DemoToken} from "@pyevm-agents/contracts/examples/tokens/DemoToken.sol";
import {TokenInfoTool} from "@pyevm-agents/contracts/tools/TokenInfoTool.sol";
import {vm} from "../src/Cheats.sol";

/// @notice Deploys a token and a wallet's agent, and gives the agent's account 1,000 tokens.
contract Deploy {
    address constant EXECUTOR = address(0x19);

    function run() external returns (DemoToken usdc, LiquidityPool pool, WalletAgent agent) {
        vm.startBroadcast();
        usdc = new DemoToken("USD Coin", "USDC", 6, 1_000_000e6);
        pool = new LiquidityPool();
        TokenInfoTool info = new TokenInfoTool();
        string memory prompt = string.concat("You manage a user's wallet.\n\nUSDC = ", vm.toString(address(usdc)));
        agent = new WalletAgent(EXECUTOR, "llama_model_3", pool, prompt, info);
        require(usdc.transfer(address(agent.account()), 1_000e6), "no tokens");
        vm.stopBroadcast();
    }
}
