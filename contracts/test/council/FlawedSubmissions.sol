// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {DataAsCode} from "../../callback/DataAsCode.sol";
import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {ICouncilReputation} from "../../council/ICouncilReputation.sol";
import {Terms} from "../../council/ICouncil.sol";

/// @title A council with one flawed rule for what comes in. For tests: it can be robbed
contract FlawedSubmissions is AgentCouncilOracle {
    enum Flaw {
        CopyableCommitment, // keccak256(abi.encode(answer, nonce)), as the ERC recommends
        NoLimits,
        BooleanToken, // a token must return true
        StatedAmount // what the token was told to send counts
    }

    Flaw private immutable flaw;

    constructor(Terms memory terms, ICouncilReputation reputation_, Flaw flaw_) AgentCouncilOracle(terms, reputation_) {
        flaw = flaw_;
    }

    function commitmentOf(uint256 requestId, address agent, bytes calldata answer, uint256 nonce)
        public
        view
        override
        returns (bytes32)
    {
        if (flaw == Flaw.CopyableCommitment) return keccak256(abi.encode(answer, nonce));
        return super.commitmentOf(requestId, agent, answer, nonce);
    }

    function _keepText(bytes memory text) internal override returns (address where, uint8 options) {
        if (flaw == Flaw.NoLimits) return (DataAsCode.write(text), 0);
        return super._keepText(text);
    }

    function _requireLength(string memory member, uint256 size, uint256 limit) internal view override {
        if (flaw != Flaw.NoLimits) super._requireLength(member, size, limit);
    }

    function _pull(address token, uint256 amount) internal override {
        if (flaw == Flaw.BooleanToken || flaw == Flaw.StatedAmount) {
            require(IERC20(token).transferFrom(msg.sender, address(this), amount));
        } else {
            super._pull(token, amount);
        }
    }
}
