// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {ToolResultConverter} from "../interfaces/ToolResultConverter.sol";
import {SimpleSmartContractTool} from "../tools/SimpleSmartContractTool.sol";
import {VersionedAccount} from "./VersionedAccount.sol";

/// @title A tool of a VersionedAccount, for each version of its agent
contract AccountTool is SimpleSmartContractTool {
    /// @notice The caller is neither the account's agent nor an earlier one with an open run.
    error NotActiveAgent(address caller);

    /// @notice The account whose function it is.
    VersionedAccount public immutable account;

    /// @notice The arguments are those of SimpleSmartContractTool, with the account as the contract.
    constructor(
        string memory _name,
        string memory _description,
        VersionedAccount _account,
        bytes4 _toolSelector,
        IERCAgentTool.InputDescription memory _inputDescription,
        string memory _staticResult
    )
        SimpleSmartContractTool(
            _name,
            _description,
            address(_account),
            _toolSelector,
            _inputDescription,
            true,
            _staticResult,
            ToolResultConverter(address(0))
        )
    {
        account = _account;
    }

    /// @inheritdoc SimpleSmartContractTool
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        returns (int256 runId, string memory result)
    {
        if (!account.isActive(msg.sender)) revert NotActiveAgent(msg.sender);
        return (-1, _call(input.abiEncodedParams));
    }
}
