// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {IBallot} from "./IBallot.sol";

/// @title Reads the proposal that a voting agent votes on
contract ReadProposalTool is IERCAgentTool {
    /// @notice Somebody else than the agent tried to run it.
    error NotAgent(address caller);

    /// @notice The tool has no parameters.
    error UnexpectedInput(string reason);

    IBallot public immutable agent;

    constructor(IBallot _agent) {
        agent = _agent;
    }

    /// @inheritdoc IERCAgentTool
    function name() external pure returns (string memory) {
        return "read_proposal";
    }

    /// @inheritdoc IERCAgentTool
    function description() external pure returns (string memory) {
        return "Reads the proposal";
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @notice Answers with what the proposal does, and its description in quotation marks.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (msg.sender != address(agent)) revert NotAgent(msg.sender);
        if (input.params.length != 0) revert UnexpectedInput("no parameters expected");
        return (-1, agent.read());
    }
}
