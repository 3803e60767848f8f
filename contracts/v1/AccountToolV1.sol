// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentSmartContractToolV1} from "./IERCAgentSmartContractToolV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {VersionedAccount} from "./VersionedAccount.sol";

/// @title An AccountTool for version-1 agents of a VersionedAccount
contract AccountToolV1 is IERCAgentSmartContractToolV1 {
    /// @notice The caller is neither the account's agent nor an earlier one with an open run.
    error NotActiveAgent(address caller);

    /// @notice The account whose function it is.
    VersionedAccount public immutable account;

    /// @notice The arguments are those of IERCAgentSmartContractToolV1, with the account as the contract.
    constructor(
        string memory _name,
        string memory _description,
        VersionedAccount _account,
        bytes4 _toolSelector,
        string memory _toolAbi
    ) IERCAgentSmartContractToolV1(_name, _description, address(_account), _toolSelector, _toolAbi) {
        account = _account;
    }

    /// @inheritdoc IERCAgentSmartContractToolV1
    function run(IERCAgentToolV1.Input memory input, address)
        external
        override
        returns (uint256 runId, string memory result)
    {
        if (!account.isActive(msg.sender)) revert NotActiveAgent(msg.sender);
        return (type(uint256).max, _call(input));
    }
}
