// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {CallbackAgent} from "../../callback/CallbackAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {Pool} from "../../interfaces/Pool.sol";
import {ToolResultConverter} from "../../interfaces/ToolResultConverter.sol";
import {AgentOnlyTool} from "../../tools/AgentOnlyTool.sol";
import {ViewBalanceResultConverter} from "./ViewBalanceResultConverter.sol";
import {WalletAccount} from "./WalletAccount.sol";
import {WalletTexts} from "./WalletTexts.sol";

/// @title A WalletAgent whose model runs off the chain, by an oracle
/// @notice Same tools, texts and prompt: send tokens to `account()`, then `ask("Deposit 10 USDC", address(0))` with
///   `costOfRun()` wei. Only the owner and callers whom the owner allowed may start a run, by `ask` or `run`.
///   What a step did stands: an answer that is not done, or a later tool that reverts, undoes nothing.
/// @dev The account's owner is the deployer for ever, also after `transferOwnership`.
contract WalletCallbackAgent is CallbackAgent {
    /// @notice Holds the wallet's tokens and deposits them.
    WalletAccount public immutable account;

    /// @notice Creates the agent, its account and its own three tools, in the order in which WalletAgent does.
    /// @param _settings the oracle and what is asked of it
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _pool the pool, which counts base units
    /// @param _basePrompt describes the agent's task, and names token addresses in lines `USDC = 0x…`, each with
    ///   all of its 40 hex digits; when empty, the ERC's own text
    /// @param _existingTool the fourth tool: any tool that is already deployed, for example a TokenInfoTool
    constructor(
        OracleSettings memory _settings,
        string memory _modelId,
        Pool _pool,
        string memory _basePrompt,
        IERCAgentTool _existingTool
    )
        CallbackAgent(
            _settings,
            _modelId,
            WalletTexts.AGENT_NAME,
            WalletTexts.AGENT_DESCRIPTION,
            WalletTexts.AGENT_INPUT,
            bytes(_basePrompt).length == 0 ? WalletTexts.BASE_PROMPT : _basePrompt,
            new IERCAgentTool[](0),
            10
        )
    {
        WalletAccount walletAccount = new WalletAccount(msg.sender, _pool);
        account = walletAccount;

        _addTool(
            walletAccount,
            WalletTexts.DEPLOY_NAME,
            WalletTexts.DEPLOY_DESCRIPTION,
            Pool.deploy.selector,
            _assetAndAmount(WalletTexts.DEPLOY_ASSET, WalletTexts.DEPLOY_AMOUNT),
            WalletTexts.DEPLOY_RESULT,
            ToolResultConverter(address(0))
        );
        _addTool(
            walletAccount,
            WalletTexts.WITHDRAW_NAME,
            WalletTexts.WITHDRAW_DESCRIPTION,
            Pool.withdraw.selector,
            _assetAndAmount(WalletTexts.WITHDRAW_ASSET, WalletTexts.WITHDRAW_AMOUNT),
            WalletTexts.WITHDRAW_RESULT,
            ToolResultConverter(address(0))
        );
        _addTool(
            walletAccount,
            WalletTexts.BALANCE_NAME,
            WalletTexts.BALANCE_DESCRIPTION,
            Pool.balance.selector,
            _asset(WalletTexts.BALANCE_ASSET),
            "",
            new ViewBalanceResultConverter()
        );

        // reusing an existing tool
        tools.push(_existingTool);
    }

    /// @dev Whoever starts a run moves the wallet's tokens, so it does not matter who pays for it.
    function _authorize(address caller, bool) internal view override {
        if (!isCaller(caller)) revert CallerNotAllowed(caller);
    }

    /// @dev A tool with a converter answers in its words, one without with the fixed result.
    function _addTool(
        WalletAccount walletAccount,
        string memory toolName,
        string memory toolDescription,
        bytes4 selector,
        InputDescription memory input,
        string memory result,
        ToolResultConverter converter
    ) private {
        AgentOnlyTool tool = new AgentOnlyTool(
            toolName,
            toolDescription,
            address(walletAccount),
            selector,
            input,
            address(converter) == address(0),
            result,
            converter
        );
        walletAccount.addTool(address(tool));
        tools.push(tool);
    }

    function _asset(string memory text) private pure returns (InputDescription memory) {
        ParamDescription[] memory params = new ParamDescription[](1);
        params[0] = ParamDescription(ParamType.ADDRESS, WalletTexts.ASSET, text);
        return InputDescription(params);
    }

    function _assetAndAmount(string memory asset, string memory amount)
        private
        pure
        returns (InputDescription memory)
    {
        ParamDescription[] memory params = new ParamDescription[](2);
        params[0] = ParamDescription(ParamType.ADDRESS, WalletTexts.ASSET, asset);
        params[1] = ParamDescription(ParamType.UINT, WalletTexts.AMOUNT, amount);
        return InputDescription(params);
    }
}
