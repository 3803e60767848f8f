// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title What the models of the loan's agents read
library LoanTexts {
    string internal constant AGENT_NAME = "Loan Application Agent";
    string internal constant AGENT_DESCRIPTION = "Decides on an application for a loan";
    string internal constant AGENT_INPUT = "what to do";
    string internal constant AGENT_PROMPT =
        "You decide on applications for loans. Do each thing that the request asks, in order.";

    string internal constant CREDIT_NAME = "Credit Score Agent";
    string internal constant CREDIT_DESCRIPTION = "Scores the credit of the applicant";
    string internal constant CREDIT_INPUT = "the application";
    string internal constant CREDIT_PROMPT =
        "You check the credit of an applicant. Do each check that the criteria ask, in order.";

    /// @dev A request is these two with the application's text between them. Each clause names the words of one tool.
    string internal constant REQUEST_START =
        'Read the criteria, run the Credit Score Agent on the application "';
    string internal constant REQUEST_END = '" and decide on the loan.';

    /// @dev Stands for an empty text.
    string internal constant NO_TEXT = "a loan";
}
