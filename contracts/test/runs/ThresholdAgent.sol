// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {ConfirmedAgent} from "../../runs/ConfirmedAgent.sol";

/// @title An agent that spends some wei a run without a confirmation
contract ThresholdAgent is ConfirmedAgent {
    uint256 private constant FREE_WEI = 10;
    address private immutable confirmer;

    constructor(address whoConfirms, address executor, IERCAgentTool[] memory _tools)
        IERCAgent(executor, "m", "Payer", "Pays.", "what to pay", "", _tools, 4)
    {
        confirmer = whoConfirms;
    }

    function _confirmer() internal view override returns (address) {
        return confirmer;
    }

    function _isFree(Writes memory done) internal pure override returns (bool) {
        return done.value <= FREE_WEI;
    }
}
