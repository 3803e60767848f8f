// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {Pool} from "../../interfaces/Pool.sol";
import {ToolResultConverter} from "../../interfaces/ToolResultConverter.sol";
import {AgentOnlyTool} from "../../tools/AgentOnlyTool.sol";
import {ViewBalanceResultConverter} from "./ViewBalanceResultConverter.sol";
import {WalletAccount} from "./WalletAccount.sol";
import {WalletTexts} from "./WalletTexts.sol";

/// @title Manages its owner's deposits in a liquidity pool by instructions in plain words
/// @notice Send tokens to `account()`, then say `instruct("Deposit 10 USDC")`. Amounts are whole tokens.
///   To let another agent use this one as a tool, allow it with `setCaller`. Whoever can run that agent can then
///   move the wallet's tokens between its account and the pool; nobody but the owner can move them elsewhere.
///   A run that is not done reverts with `RunOutcome.NotDone`, so an instruction moves all that it asks for, or nothing.
/// @dev Differs from the ERC's text where that doesn't work, and where it is unsafe: a WalletAccount holds the
///   tokens and is the only depositor; amounts are UINT, as the pool's are; only the owner and callers whom the
///   owner allowed may run the agent, only the agent may run its tools, only these tools may use the account; the
///   fourth tool is a deployed contract.
contract WalletAgent is IERCAgent {
    /// @notice Somebody else than the owner tried to allow or forbid a caller.
    error NotOwner(address caller);

    /// @notice The owner hasn't allowed this caller to run the agent.
    error CallerNotAllowed(address caller);

    /// @notice The owner allowed a caller to run the agent, or forbade it.
    event CallerSet(address indexed caller, bool allowed);

    /// @notice The deployer.
    address public immutable owner;

    /// @notice Holds the wallet's tokens and deposits them.
    WalletAccount public immutable account;

    mapping(address caller => bool) private allowed;

    modifier onlyCaller() {
        if (!isCaller(msg.sender)) revert CallerNotAllowed(msg.sender);
        _;
    }

    /// @notice Creates the agent, its account and its own three tools.
    /// @param _agentExecutorContract a contract that implements IERCAgentExecutor; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _pool the pool, which counts base units
    /// @param _basePrompt describes the agent's task, and names token addresses in lines `USDC = 0x…`, each with
    ///   all of its 40 hex digits; when empty, the ERC's own text
    /// @param _existingTool the fourth tool: any tool that is already deployed, for example a TokenInfoTool
    constructor(
        address _agentExecutorContract,
        string memory _modelId,
        Pool _pool,
        string memory _basePrompt,
        IERCAgentTool _existingTool
    )
        IERCAgent(
            _agentExecutorContract,
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
        owner = msg.sender;
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

    /// @notice Runs the agent for the owner, or for a caller whom the owner allowed.
    /// @inheritdoc IERCAgent
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        onlyCaller
        returns (int256 runId, string memory result)
    {
        return (-1, _runOrRevert(_promptOf(input)));
    }

    /// @notice Does what `run` does, for people: takes the instruction as a plain string.
    /// @param prompt for example "Deposit 10 USDC"
    /// @return answer the agent's answer
    function instruct(string memory prompt) external onlyCaller returns (string memory answer) {
        return _runOrRevert(prompt);
    }

    /// @notice Allows a caller to run the agent, or forbids it. For the owner.
    function setCaller(address caller, bool isAllowed) external {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        allowed[caller] = isAllowed;
        emit CallerSet(caller, isAllowed);
    }

    /// @notice Tells whether this address may run the agent. The owner always may.
    function isCaller(address caller) public view returns (bool) {
        return caller == owner || allowed[caller];
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
