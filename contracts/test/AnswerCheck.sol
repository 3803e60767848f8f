// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAgentOracle} from "../callback/IAgentOracle.sol";
import {Outcome} from "../callback/IAgentOracleClient.sol";

/// @title Compares an oracle's answers with the executor's, on a chain that has both
contract AnswerCheck {
    /// @notice The executor answers differently.
    error DifferentAnswer(uint256 requestId, Outcome outcome, bytes32 outputHash, bool success, bytes32 computedHash);

    /// @notice The executor ended without an answer. Send more gas.
    error ExecutorHalted(uint256 requestId);

    /// @notice The precompile.
    address public constant EXECUTOR = address(0x19);

    /// @notice Calls the executor with a request's arguments. Reverts unless the oracle was given the same answer.
    function check(IAgentOracle oracle, uint256 requestId, bytes calldata arguments) external {
        (Outcome outcome, bytes memory output,,) = oracle.answerOf(requestId);
        (bool success, bytes memory computed) = EXECUTOR.call(arguments);
        if (!success && computed.length == 0) revert ExecutorHalted(requestId);
        bool isSame = outcome == (success ? Outcome.Answered : Outcome.Refused)
            && keccak256(output) == keccak256(computed);
        if (!isSame) revert DifferentAnswer(requestId, outcome, keccak256(output), success, keccak256(computed));
    }
}
