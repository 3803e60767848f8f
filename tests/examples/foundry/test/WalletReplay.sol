// SPDX-License-Identifier: CC0-1.0
// Written by `pyevm-agents export-replay` (pyevm-agents 0.1.0).
// Recorded on the chain 'wallet'.
pragma solidity ^0.8.20;

import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";
import {
    RecordedStep, RecordedTool, ReplayAgentExecutor
} from "@pyevm-agents/contracts/test/ReplayAgentExecutor.sol";

/// @title What a model said, to be said again in any EVM: `AgentReplay.install(); WalletReplay.load();`
library WalletReplay {
    /// @notice How many steps were recorded.
    uint256 internal constant STEPS = 4;

    /// @notice Gas that their prompts and words cost. It was charged where they were recorded.
    uint256 internal constant INFERENCE_GAS = 0;

    string private constant TEXT_1 = "You are an agent deployed on an EVM blockchain, responsible for managing a user's wallet. The wallet's owner will give you instructions in simple terms, and your goal is to execute the instructions from the user, given the list of tools you can use.\n\nUSDC = 0x5FbDB2315678afecb367f032d93F642f64180aa3\nDAI = 0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512";
    string private constant TEXT_2 = "Deposit 10 USDC into the pool";
    string private constant TEXT_3 = "Thought: Deposit 10 0x5FbDB2315678afecb367f032d93F642f64180aa3 into the pool\nAction: DeployTool\nAction Input: {\"asset\": \"0x5FbDB2315678afecb367f032d93F642f64180aa3\", \"amount\": 10}";
    string private constant TEXT_4 = "What is my USDC balance?";
    string private constant TEXT_5 = "Thought: What is my 0x5FbDB2315678afecb367f032d93F642f64180aa3 balance\nAction: ViewBalanceTool\nAction Input: {\"asset\": \"0x5FbDB2315678afecb367f032d93F642f64180aa3\"}";

    /// @notice Gives the steps to the executor at 0x19.
    function load() internal {
        load(ReplayAgentExecutor(address(0x19)));
    }

    /// @notice Gives the steps to an executor.
    function load(ReplayAgentExecutor executor) internal {
        executor.record(step1());
        executor.record(step2());
        executor.record(step3());
        executor.record(step4());
    }

    /// @notice Step 1 of transaction 0xdf1c41610cd1b23de3ef3d8c23c9a13cf502705c4260fa880e983e0290b433a9,
    ///   by agent 0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9: 0 tokens read cold, 0 warm, 0 written.
    function step1() internal pure returns (RecordedStep memory step) {
        step.modelId = "llama_model_3";
        step.basePrompt = TEXT_1;
        step.tools = tools1();
        step.prompt = TEXT_2;
        step.tool = 0; // DeployTool
        step.values = new bytes[](2);
        step.values[0] = abi.encode(address(0x5FbDB2315678afecb367f032d93F642f64180aa3)); // asset
        step.values[1] = abi.encode(uint256(10)); // amount
        step.reasoning = TEXT_3;
        step.promptGas = 0;
        step.outputGas = 0;
    }

    /// @notice Step 2 of transaction 0xdf1c41610cd1b23de3ef3d8c23c9a13cf502705c4260fa880e983e0290b433a9,
    ///   by agent 0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9: 0 tokens read cold, 0 warm, 0 written.
    function step2() internal pure returns (RecordedStep memory step) {
        step.modelId = "llama_model_3";
        step.basePrompt = TEXT_1;
        step.tools = tools1();
        step.agentReasoning = new string[](1);
        step.agentReasoning[0] = TEXT_3;
        step.toolResults = new string[](1);
        step.toolResults[0] = "Successfully deployed";
        step.prompt = TEXT_2;
        step.isFinalAnswer = true;
        step.answer = "Done. DeployTool: Successfully deployed";
        step.promptGas = 0;
        step.outputGas = 0;
    }

    /// @notice Step 1 of transaction 0x9a73e49cc0a51b310257e59d8826a7768033f889ee97cbccdfbe3d53bbb06a82,
    ///   by agent 0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9: 0 tokens read cold, 0 warm, 0 written.
    function step3() internal pure returns (RecordedStep memory step) {
        step.modelId = "llama_model_3";
        step.basePrompt = TEXT_1;
        step.tools = tools1();
        step.prompt = TEXT_4;
        step.tool = 2; // ViewBalanceTool
        step.values = new bytes[](1);
        step.values[0] = abi.encode(address(0x5FbDB2315678afecb367f032d93F642f64180aa3)); // asset
        step.reasoning = TEXT_5;
        step.promptGas = 0;
        step.outputGas = 0;
    }

    /// @notice Step 2 of transaction 0x9a73e49cc0a51b310257e59d8826a7768033f889ee97cbccdfbe3d53bbb06a82,
    ///   by agent 0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9: 0 tokens read cold, 0 warm, 0 written.
    function step4() internal pure returns (RecordedStep memory step) {
        step.modelId = "llama_model_3";
        step.basePrompt = TEXT_1;
        step.tools = tools1();
        step.agentReasoning = new string[](1);
        step.agentReasoning[0] = TEXT_5;
        step.toolResults = new string[](1);
        step.toolResults[0] = "The balance is: 510";
        step.prompt = TEXT_4;
        step.isFinalAnswer = true;
        step.answer = "Done. ViewBalanceTool: The balance is: 510";
        step.promptGas = 0;
        step.outputGas = 0;
    }

    function tools1() private pure returns (RecordedTool[] memory tools) {
        tools = new RecordedTool[](4);
        tools[0].name = "DeployTool"; // 0xb0279Db6a2F1E01fbC8483FCCef0Be2bC6299cC3
        tools[0].description = "Deploy funds into the pool";
        tools[0].parameters = new IERCAgentTool.ParamDescription[](2);
        tools[0].parameters[0] = IERCAgentTool.ParamDescription(
            IERCAgentTool.ParamType.ADDRESS, "asset", "address of the token to deposit"
        );
        tools[0].parameters[1] = IERCAgentTool.ParamDescription(
            IERCAgentTool.ParamType.UINT, "amount", "amount of tokens to deposit"
        );
        tools[1].name = "WithdrawTool"; // 0x3dE2Da43d4c1B137E385F36b400507c1A24401f8
        tools[1].description = "Withdraw funds from the pool";
        tools[1].parameters = new IERCAgentTool.ParamDescription[](2);
        tools[1].parameters[0] = IERCAgentTool.ParamDescription(
            IERCAgentTool.ParamType.ADDRESS, "asset", "address of the token to withdraw"
        );
        tools[1].parameters[1] = IERCAgentTool.ParamDescription(
            IERCAgentTool.ParamType.UINT, "amount", "amount of tokens to withdraw"
        );
        tools[2].name = "ViewBalanceTool"; // 0xAbB608121Fd652F112827724B28a61e09f2dcDf4
        tools[2].description = "See user's balance in the pool";
        tools[2].parameters = new IERCAgentTool.ParamDescription[](1);
        tools[2].parameters[0] = IERCAgentTool.ParamDescription(
            IERCAgentTool.ParamType.ADDRESS, "asset", "address of the token to view balance for"
        );
        tools[3].name = "TokenInfoTool"; // 0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9
        tools[3].description = "See the name, symbol and decimals of a token";
        tools[3].parameters = new IERCAgentTool.ParamDescription[](1);
        tools[3].parameters[0] = IERCAgentTool.ParamDescription(
            IERCAgentTool.ParamType.ADDRESS, "asset", "address of the token"
        );
    }
}
