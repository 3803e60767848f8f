// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentSmartContractToolV1} from "./IERCAgentSmartContractToolV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";

/// @title A version-1 tool of one function that only the agent which created it may run
/// @notice For functions that trust the tool, as those of WalletAccount do.
contract AgentOnlyToolV1 is IERCAgentSmartContractToolV1 {
    /// @notice Somebody else than the tool's agent tried to run it.
    error NotAgent(address caller);

    /// @notice The only address that may run this tool: the one that deployed it.
    address public immutable agent;

    /// @notice The arguments are those of IERCAgentSmartContractToolV1.
    constructor(
        string memory _name,
        string memory _description,
        address _toolContract,
        bytes4 _toolSelector,
        string memory _toolAbi
    ) IERCAgentSmartContractToolV1(_name, _description, _toolContract, _toolSelector, _toolAbi) {
        agent = msg.sender;
    }

    /// @inheritdoc IERCAgentSmartContractToolV1
    function run(IERCAgentToolV1.Input memory input, address)
        external
        override
        returns (uint256 runId, string memory result)
    {
        if (msg.sender != agent) revert NotAgent(msg.sender);
        return (type(uint256).max, _call(input));
    }
}
