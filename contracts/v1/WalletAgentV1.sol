// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {WalletAccount} from "../examples/wallet/WalletAccount.sol";
import {Pool} from "../interfaces/Pool.sol";
import {AgentOnlyToolV1} from "./AgentOnlyToolV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {IERCAgentV1} from "./IERCAgentV1.sol";

/// @title The first draft's WalletAgent: manages its owner's deposits in a liquidity pool
/// @notice Send tokens to `account()`, then say `instruct("Deploy 10 USDC")`. Amounts are whole tokens. Only the owner may
///   run it. A run that is not done reverts with `RunOutcome.NotDone`.
/// @dev The tools' names, texts and functions are the draft's. A WalletAccount is between the tools and the pool: otherwise
///   the pool would see each tool as another depositor.
contract WalletAgentV1 is IERCAgentV1, Ownable {
    /// @notice Holds the wallet's tokens and deposits them.
    WalletAccount public immutable account;

    /// @notice Creates the agent, its account and its three tools.
    /// @param _agentExecutorContract a contract that implements IERCAgentExecutorV1; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent; the draft's is "llama_model_3"
    /// @param _pool the pool, which counts base units; the draft's is address(0x123)
    /// @param _names lines `USDC = 0x…`, each with all of its 40 hex digits, which follow the draft's description
    constructor(address _agentExecutorContract, string memory _modelId, Pool _pool, string memory _names)
        IERCAgentV1(
            _agentExecutorContract,
            _modelId,
            "WalletAgent",
            string.concat(
                "You are an agent deployed on an Ethereum blockchain, responsible for managing a user's wallet. ",
                "The wallet's owner will give you instructons in simple terms, ",
                "and your goal is to execute the instructions from the user, given the list of tools you can use...",
                bytes(_names).length == 0 ? "" : "\n",
                _names
            ),
            "The instruction of the wallet's owner",
            new IERCAgentToolV1[](0),
            10
        )
        Ownable(msg.sender)
    {
        WalletAccount walletAccount = new WalletAccount(msg.sender, _pool);
        account = walletAccount;
        _addTool(
            walletAccount, "Deploy", "Deploy funds into the pool", Pool.deploy.selector,
            "deploy(address asset, uint256 amount)"
        );
        _addTool(
            walletAccount, "Withdraw", "Withdraw funds from the pool", Pool.withdraw.selector,
            "withdraw(address asset, uint256 amount)"
        );
        _addTool(
            walletAccount, "ViewBalance", "See user's balance in the pool", Pool.balance.selector,
            "balance(address asset) returns (uint256)"
        );
    }

    /// @inheritdoc IERCAgentV1
    function run(IERCAgentToolV1.Input memory input, address)
        external
        override
        onlyOwner
        returns (uint256 runId, string memory result)
    {
        return (SYNCHRONOUS, _runOrRevert(_promptOf(input)));
    }

    /// @notice Does what `run` does, for people: takes the instruction as a plain string.
    function instruct(string memory prompt) external onlyOwner returns (string memory answer) {
        return _runOrRevert(prompt);
    }

    function _addTool(
        WalletAccount walletAccount,
        string memory toolName,
        string memory toolDescription,
        bytes4 selector,
        string memory toolAbi
    ) private {
        AgentOnlyToolV1 tool =
            new AgentOnlyToolV1(toolName, toolDescription, address(walletAccount), selector, toolAbi);
        walletAccount.addTool(address(tool));
        tools.push(tool);
    }
}
