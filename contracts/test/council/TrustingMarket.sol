// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {PredictionMarket} from "../../examples/council/PredictionMarket.sol";

/// @title A market with flaws: anybody resolves it, a claim clears nothing, a judge decides ties, and no dispute covers stakes
/// @dev For tests: the attacks on `PredictionMarket` succeed here.
contract TrustingMarket is PredictionMarket {
    constructor(
        AgentCouncilOracle oracle_,
        IERC20 token_,
        string memory question,
        uint256 numInfoAgents,
        uint256 bond,
        uint256 deadline
    ) payable PredictionMarket(oracle_, token_, question, numInfoAgents, bond, deadline) {}

    function _declare(uint256 valueWei) internal override {}

    function _requireCovered() internal view override {}

    function _isVoted() internal pure override returns (bool) {
        return true;
    }

    function _requireOracle() internal view override {}

    function _clear(address account) internal view override returns (uint256) {
        return stakeOf[result == Result.Yes][account];
    }
}
