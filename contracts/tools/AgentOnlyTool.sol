// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {ToolResultConverter} from "../interfaces/ToolResultConverter.sol";
import {SimpleSmartContractTool} from "./SimpleSmartContractTool.sol";

/// @title A SimpleSmartContractTool that only the agent which created it may run
/// @notice For functions that trust the tool, as those of WalletAccount do.
contract AgentOnlyTool is SimpleSmartContractTool {
    /// @notice Somebody else than the tool's agent tried to run it.
    error NotAgent(address caller);

    /// @notice The only address that may run this tool: the one that deployed it.
    address public immutable agent;

    /// @notice The arguments are those of SimpleSmartContractTool.
    constructor(
        string memory _name,
        string memory _description,
        address _toolContract,
        bytes4 _toolSelector,
        IERCAgentTool.InputDescription memory _inputDescription,
        bool _useStaticResult,
        string memory _staticResult,
        ToolResultConverter _toolResultConverter
    )
        SimpleSmartContractTool(
            _name,
            _description,
            _toolContract,
            _toolSelector,
            _inputDescription,
            _useStaticResult,
            _staticResult,
            _toolResultConverter
        )
    {
        agent = msg.sender;
    }

    /// @inheritdoc SimpleSmartContractTool
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        returns (int256 runId, string memory result)
    {
        if (msg.sender != agent) revert NotAgent(msg.sender);
        return (-1, _call(input.abiEncodedParams));
    }
}
