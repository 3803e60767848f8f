// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {LiquidityPool} from "@pyevm-agents/contracts/examples/pool/LiquidityPool.sol";
import {DemoToken} from "@pyevm-agents/contracts/examples/tokens/DemoToken.sol";
import {WalletAgent} from "@pyevm-agents/contracts/examples/wallet/WalletAgent.sol";
import {AddressBook} from "@pyevm-agents/contracts/test/executor/AddressBook.sol";
import {TokenInfoTool} from "@pyevm-agents/contracts/tools/TokenInfoTool.sol";

/// @notice What both examples test: a wallet's agent with 1,000 USDC and a pool, deployed as anybody deploys it.
abstract contract Wallet {
    DemoToken usdc;
    DemoToken dai;
    LiquidityPool pool;
    WalletAgent agent;

    function deployWallet() internal {
        pool = new LiquidityPool();
        usdc = new DemoToken("USD Coin", "USDC", 6, 1_000_000e6);
        dai = new DemoToken("Dai Stablecoin", "DAI", 18, 1_000_000e18);
        string memory prompt = string.concat(
            "You are an agent deployed on an EVM blockchain, responsible for managing a user's wallet. The wallet's "
            "owner will give you instructions in simple terms, and your goal is to execute the instructions from the "
            "user, given the list of tools you can use.\n\nUSDC = ",
            AddressBook.checksummed(address(usdc)),
            "\nDAI = ",
            AddressBook.checksummed(address(dai))
        );
        agent = new WalletAgent(address(0x19), "llama_model_3", pool, prompt, new TokenInfoTool());
        usdc.transfer(address(agent.account()), 1_000e6);
    }

    function inPool() internal view returns (uint256) {
        return pool.balanceOf(address(agent.account()), address(usdc));
    }

    function requireEqual(string memory a, string memory b) internal pure {
        require(keccak256(bytes(a)) == keccak256(bytes(b)), string.concat("got ", a, ", expected ", b));
    }
}
