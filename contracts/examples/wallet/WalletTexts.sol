// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Every text of the WalletAgent that its model, or the model of an agent above it, reads
/// @notice The ERC's own wording. Change it here, compile and measure.
library WalletTexts {
    string internal constant AGENT_NAME = "Wallet Agent";
    string internal constant AGENT_DESCRIPTION = "Use this to deploy or withdraw tokens from a liquidity pool";
    string internal constant AGENT_INPUT = "The action you want to take, the address of the tokens, and the amount";
    string internal constant BASE_PROMPT =
        "You are an agent deployed on an EVM blockchain, responsible for managing a user's wallet. "
        "The wallet's owner will give you instructons in simple terms, "
        "and your goal is to execute the instructions from the user, given the list of tools you can use...";

    string internal constant ASSET = "asset";
    string internal constant AMOUNT = "amount";

    string internal constant DEPLOY_NAME = "DeployTool";
    string internal constant DEPLOY_DESCRIPTION = "Deploy funds into the pool";
    string internal constant DEPLOY_ASSET = "address of the token to deposit";
    string internal constant DEPLOY_AMOUNT = "amount of tokens to deposit";
    string internal constant DEPLOY_RESULT = "Successfully deployed";

    string internal constant WITHDRAW_NAME = "WithdrawTool";
    string internal constant WITHDRAW_DESCRIPTION = "Withdraw funds from the pool";
    string internal constant WITHDRAW_ASSET = "address of the token to withdraw";
    string internal constant WITHDRAW_AMOUNT = "amount of tokens to withdraw";
    string internal constant WITHDRAW_RESULT = "Successfully withdrawn";

    string internal constant BALANCE_NAME = "ViewBalanceTool";
    string internal constant BALANCE_DESCRIPTION = "See user's balance in the pool";
    string internal constant BALANCE_ASSET = "address of the token to view balance for";
}
