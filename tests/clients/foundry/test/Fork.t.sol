// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {LiquidityPool} from "@pyevm-agents/contracts/examples/pool/LiquidityPool.sol";
import {WalletAgent} from "@pyevm-agents/contracts/examples/wallet/WalletAgent.sol";
import {IAgentExecutorErrors} from "@pyevm-agents/contracts/interfaces/IAgentExecutorErrors.sol";
import {AgentIterationResult} from "@pyevm-agents/contracts/interfaces/IERCAgentExecutor.sol";
import {vm} from "../src/Cheats.sol";

/// @notice What a test that forks the node can do with an agent: `forge test --fork-url`.
contract ForkTest {
    WalletAgent agent = WalletAgent(vm.envAddress("AGENT"));
    LiquidityPool pool = LiquidityPool(vm.envAddress("POOL"));
    address usdc = vm.envAddress("USDC");

    /// @notice forge's EVM has no model, and says so.
    function test_TheForkHasNoExecutor() external {
        vm.prank(agent.owner());
        vm.expectRevert(abi.encodeWithSelector(IAgentExecutorErrors.ExecutorUnavailable.selector));
        agent.instruct("Deposit 10 USDC");
    }

    /// @notice With the executor mocked, an agent says what the test wants.
    function test_TheForkWithAMock() external {
        AgentIterationResult memory said;
        said.isFinalAnswer = true;
        said.finalAnswer = "Mocked.";
        vm.mockCall(address(0x19), "", abi.encode(said));
        vm.prank(agent.owner());
        require(keccak256(bytes(agent.instruct("Deposit 10 USDC"))) == keccak256("Mocked."), "another answer");
    }

    /// @notice The node runs the agent, and the fork goes on from there.
    function test_TheNodeRunsTheAgent() external {
        uint256 before = pool.balanceOf(address(agent.account()), usdc);
        bytes memory call = abi.encodeCall(WalletAgent.instruct, ("Deposit 10 USDC into the pool"));
        string memory sent = string.concat(
            '[{"from":"', vm.toString(agent.owner()), '","to":"', vm.toString(address(agent)),
            '","data":"', vm.toString(call), '"}]'
        );
        vm.rpc("eth_sendTransaction", sent);
        vm.rollFork(block.number + 1);
        uint256 moved = pool.balanceOf(address(agent.account()), usdc) - before;
        require(moved == 10e6, "the agent did something else");
    }
}
