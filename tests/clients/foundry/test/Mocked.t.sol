// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {SimpleAgent} from "@pyevm-agents/contracts/agents/SimpleAgent.sol";
import {AgentIterationResult} from "@pyevm-agents/contracts/interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";
import {MockExecutor} from "@pyevm-agents/contracts/test/MockExecutor.sol";

/// @notice A test without any node: the agent is given an executor that says what the test told it.
contract MockedTest {
    function test_AnAgentWithoutANode() external {
        MockExecutor executor = new MockExecutor();
        SimpleAgent agent = new SimpleAgent(
            address(executor), "any", "Agent", "Answers", "The question", "", new IERCAgentTool[](0), 2
        );
        AgentIterationResult memory said;
        said.isFinalAnswer = true;
        said.finalAnswer = "42";
        executor.willReturn(said);
        IERCAgentTool.ParamValue[] memory params = new IERCAgentTool.ParamValue[](1);
        params[0] = IERCAgentTool.ParamValue(IERCAgentTool.ParamType.STRING, abi.encode("What is it?"));
        (int256 runId, string memory answer) = agent.run(IERCAgentTool.Input(params, abi.encode("What is it?")), address(0));
        require(runId == -1 && keccak256(bytes(answer)) == keccak256("42"), "another answer");
    }
}
