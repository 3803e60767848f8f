// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What the models of the trading agents read
library TradingTexts {
    string internal constant AGENT_NAME = "Trading Agent";
    string internal constant AGENT_DESCRIPTION = "Trades on posts";
    string internal constant AGENT_INPUT = "a post and what to do";
    string internal constant AGENT_PROMPT =
        "You trade a portfolio. Do each thing that the request asks, in order.";

    string internal constant OPTIMIZER_NAME = "Portfolio Optimizer";
    string internal constant OPTIMIZER_DESCRIPTION = "Optimizes the weights of the portfolio";
    string internal constant OPTIMIZER_INPUT = "what to optimize";
    string internal constant OPTIMIZER_PROMPT = "You optimize a portfolio.";

    /// @dev A request is these two with a post between them. Each clause names the words of one tool.
    string internal constant REQUEST_START = 'Rate the post "';
    string internal constant REQUEST_END =
        '", forecast the prices, run the Portfolio Optimizer with "Optimize the weights" and execute the trade.';
}
