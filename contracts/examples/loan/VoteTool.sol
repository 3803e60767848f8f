// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {AbiString} from "../../libraries/AbiString.sol";
import {IBallot} from "./IBallot.sol";

/// @title Casts a voting agent's vote one way
contract VoteTool is IERCAgentTool {
    /// @notice Somebody else than the agent tried to run it.
    error NotAgent(address caller);

    /// @notice The input is not one parameter of type STRING.
    error UnexpectedInput(string reason);

    IBallot public immutable agent;

    /// @notice 0 against, 1 for, 2 abstain.
    uint8 public immutable support;

    string private toolName;
    string private toolDescription;

    constructor(IBallot _agent, uint8 _support, string memory _name, string memory _description) {
        agent = _agent;
        support = _support;
        toolName = _name;
        toolDescription = _description;
    }

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory) {
        return toolName;
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory) {
        return toolDescription;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = ParamDescription(ParamType.STRING, "reason", "why");
    }

    /// @notice Votes; answers for example "Voted for".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (msg.sender != address(agent)) revert NotAgent(msg.sender);
        bool isText = input.params.length == 1 && input.params[0].paramType == ParamType.STRING
            && AbiString.isAt(input.params[0].value, 0);
        if (!isText) revert UnexpectedInput("one STRING expected");
        agent.vote(support, abi.decode(input.params[0].value, (string)));
        return (-1, support == 1 ? "Voted for" : support == 0 ? "Voted against" : "Abstained");
    }
}
