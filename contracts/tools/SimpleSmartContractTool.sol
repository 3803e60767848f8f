// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {ToolResultConverter} from "../interfaces/ToolResultConverter.sol";

/// @title Exposes one function of an existing contract as a tool
/// @notice The function sees this tool as `msg.sender`. Anybody may run it; AgentOnlyTool is for one agent alone.
/// @dev Differs from the ERC's text where that doesn't run: the calldata are
///   `bytes.concat(toolSelector, input.abiEncodedParams)` (the ERC encodes the parameters as one `bytes` value),
///   the input description is copied element by element (the ERC's assignment needs the IR pipeline), refusals
///   are typed errors, and a target without code is a failure, not a success.
contract SimpleSmartContractTool is IERCAgentTool {
    /// @notice The function reverted, or there is no contract at its address.
    /// @param reason the function's own revert data
    error ToolCallReverted(address target, bytes reason);

    string toolName;
    string toolDescription;
    address public toolContract;
    bytes4 public toolSelector;
    IERCAgentTool.InputDescription toolInputDescription;

    ToolResultConverter public toolResultConverter;
    bool public useStaticResult;
    string public staticResult;

    /// @notice Creates a new tool.
    /// @param _name name of the tool
    /// @param _description description of the tool
    /// @param _toolContract address of the contract that implements the tool
    /// @param _toolSelector selector of the function on _toolContract that the tool calls
    /// @param _inputDescription all parameters of that function, in order; primitive types and arrays of them
    /// @param _useStaticResult when true, the tool answers with a fixed text
    /// @param _staticResult that text; ignored when _useStaticResult is false
    /// @param _toolResultConverter turns the function's return data into text; unused when _useStaticResult is true
    constructor(
        string memory _name,
        string memory _description,
        address _toolContract,
        bytes4 _toolSelector,
        IERCAgentTool.InputDescription memory _inputDescription,
        bool _useStaticResult,
        string memory _staticResult,
        ToolResultConverter _toolResultConverter
    ) {
        toolName = _name;
        toolDescription = _description;
        toolContract = _toolContract;
        toolSelector = _toolSelector;
        for (uint256 i = 0; i < _inputDescription.paramDescriptions.length; i++) {
            toolInputDescription.paramDescriptions.push(_inputDescription.paramDescriptions[i]);
        }
        toolResultConverter = _toolResultConverter;
        useStaticResult = _useStaticResult;
        staticResult = _staticResult;
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
    function inputDescription() external view returns (IERCAgentTool.InputDescription memory) {
        return toolInputDescription;
    }

    /// @notice Calls the function with the given parameters.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    /// @return runId -1, as the tool is synchronous
    /// @return result the function's result in words, or the fixed text
    function run(IERCAgentTool.Input memory input, address)
        external
        virtual
        returns (int256 runId, string memory result)
    {
        return (-1, _call(input.abiEncodedParams));
    }

    function _call(bytes memory abiEncodedParams) internal returns (string memory) {
        (bool success, bytes memory output) = toolContract.call(bytes.concat(toolSelector, abiEncodedParams));
        if (!success || toolContract.code.length == 0) revert ToolCallReverted(toolContract, output);
        return useStaticResult ? staticResult : toolResultConverter.convertToString(output);
    }
}
