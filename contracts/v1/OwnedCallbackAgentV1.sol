// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {CallbackAgentV1} from "./CallbackAgentV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";

/// @title A CallbackAgentV1 that only its owner, and callers whom the owner allowed, may run
/// @notice For tools that act on what an account owns, such as AccountToolV1. What a step did stands: an answer that is
///   not done, or a later tool that reverts, undoes nothing.
contract OwnedCallbackAgentV1 is CallbackAgentV1 {
    /// @notice The arguments are those of CallbackAgentV1. The deployer owns it.
    constructor(
        OracleSettings memory _settings,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        IERCAgentToolV1[] memory _tools,
        uint16 _agentMaxIterations
    )
        CallbackAgentV1(_settings, _modelId, _name, _description, _inputDescription, _tools, _agentMaxIterations)
    {}

    /// @dev Whoever starts a run moves what the account owns, so it does not matter who pays for it.
    function _authorize(address caller, bool) internal view override {
        if (!isCaller(caller)) revert CallerNotAllowed(caller);
    }
}
