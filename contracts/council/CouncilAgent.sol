// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERCAgent} from "../IERCAgent.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AgentCouncilOracle} from "./AgentCouncilOracle.sol";
import {CouncilReputation} from "./CouncilReputation.sol";

/// @title An agent that takes part in a council with its owner's bonds
abstract contract CouncilAgent is IERCAgent, Ownable {
    /// @notice What the agent is.
    /// @param executor 0x19 on pyevm-agents chains
    /// @param maxIterations how many times a run asks the model at most; all but the last can use a tool
    struct Settings {
        address executor;
        string modelId;
        string name;
        string description;
        string basePrompt;
        IERCAgentTool[] tools;
        uint16 maxIterations;
    }

    /// @notice The oracle in whose councils it sits.
    AgentCouncilOracle public immutable oracle;

    constructor(AgentCouncilOracle oracle_, address owner, Settings memory settings)
        IERCAgent(
            settings.executor,
            settings.modelId,
            settings.name,
            settings.description,
            "the question of the council",
            settings.basePrompt,
            settings.tools,
            settings.maxIterations
        )
        Ownable(owner)
    {
        oracle = oracle_;
    }

    /// @notice Sends what the agent earned, and its bonds, to an address. For the owner.
    /// @param token zero for wei
    function withdraw(address token, address payable to) external onlyOwner returns (uint256 amount) {
        return oracle.withdraw(token, to);
    }

    /// @notice Lets the agent stand for an identity that it owns, in the oracle's source of reputation. For the owner.
    function link(uint256 agentId) external onlyOwner {
        CouncilReputation(address(oracle.reputation())).link(agentId);
    }

    /// @dev The question on one line, with its specifications.
    function _askedOf(AgentCouncilOracle.Request memory request) internal pure returns (string memory) {
        if (bytes(request.specifications).length == 0) return request.query;
        return string.concat(request.query, " (", request.specifications, ")");
    }
}
