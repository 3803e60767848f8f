// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentSmartContractToolV1} from "./IERCAgentSmartContractToolV1.sol";

/// @title A version-1 tool of one function, which anybody may run; in the first draft's example `ContractTool`
contract ContractToolV1 is IERCAgentSmartContractToolV1 {
    /// @notice The arguments are those of IERCAgentSmartContractToolV1.
    constructor(
        string memory _name,
        string memory _description,
        address _toolContract,
        bytes4 _toolSelector,
        string memory _toolAbi
    ) IERCAgentSmartContractToolV1(_name, _description, _toolContract, _toolSelector, _toolAbi) {}
}
