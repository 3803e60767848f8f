// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {CallbackAgent} from "../callback/CallbackAgent.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title A CallbackAgent that only its owner, and callers whom the owner allowed, may run
/// @notice An OwnedAgent for chains without the executor: for tools that act on what the agent's account owns, such as
///   those of AbiToolFactory. Deploy an AgentAccount, create its tools, register them, deploy this agent with them, and
///   set it as the account's agent. Then `ask("Swap 0.01 ETH for USDC", address(0))` with `costOfRun()` wei.
///   What a step did stands: an answer that is not done, or a later tool that reverts, undoes nothing.
/// @dev The deployer owns it, as every CallbackAgent. Whoever owns it, or is allowed by `setCaller`, uses its tools.
contract OwnedCallbackAgent is CallbackAgent {
    /// @notice The arguments are those of CallbackAgent.
    constructor(
        OracleSettings memory _settings,
        string memory _modelId,
        string memory _name,
        string memory _description,
        string memory _inputDescription,
        string memory _basePrompt,
        IERCAgentTool[] memory _tools,
        uint16 _agentMaxIterations
    )
        CallbackAgent(
            _settings, _modelId, _name, _description, _inputDescription, _basePrompt, _tools, _agentMaxIterations
        )
    {}

    /// @dev Whoever starts a run moves what the account owns, so it does not matter who pays for it.
    function _authorize(address caller, bool) internal view override {
        if (!isCaller(caller)) revert CallerNotAllowed(caller);
    }
}
