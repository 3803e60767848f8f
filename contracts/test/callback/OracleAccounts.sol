// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AgentOracle} from "../../callback/AgentOracle.sol";

/// @title Adds up what an oracle owes
contract OracleAccounts {
    /// @notice Returns claimable wei, those of budgets, those of subscriptions, and the fees of waiting requests.
    /// @param accounts who may have claimable wei, each once
    /// @param requestIds all requests
    /// @param fees of these requests
    function owed(AgentOracle oracle, address[] calldata accounts, uint256[] calldata requestIds, uint256[] calldata fees)
        external
        view
        returns (uint256 claimable, uint256 inBudgets, uint256 inSubscriptions, uint256 inRequests)
    {
        for (uint256 i = 0; i < accounts.length; i++) claimable += oracle.claimable(accounts[i]);
        for (uint256 i = 1; i <= oracle.budgetCount(); i++) {
            (,,,,,,, uint128 balance) = oracle.budgets(i);
            inBudgets += balance;
        }
        for (uint64 i = 1; i <= oracle.subscriptionCount(); i++) {
            (, uint128 balance) = oracle.subscriptions(i);
            inSubscriptions += balance;
        }
        for (uint256 i = 0; i < requestIds.length; i++) {
            if (oracle.commitmentOf(requestIds[i]) != 0) inRequests += fees[i];
        }
    }
}
