// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {CouncilStore} from "../../council/CouncilStore.sol";

/// @dev What is flawed of the rules for judges.
enum DisputeFlaw {
    Unranked, // judges of disputes need no reputation
    OneJudge, // one of them decides
    SmallStakes, // bonds are parts of an agent's, whatever is moved
    FewPlaces, // the first 32 candidates take all places
    DuplicateWinners // each name in a judge's list of winners is paid
}

/// @title The flawed rules that the oracle and its code of verdicts share
abstract contract FlawedStakes is CouncilStore {
    DisputeFlaw internal immutable flaw;

    constructor(DisputeFlaw flaw_) {
        flaw = flaw_;
    }

    function _panelSize() internal view virtual override returns (uint256) {
        return flaw == DisputeFlaw.OneJudge ? 1 : super._panelSize();
    }

    function _movedBy(uint256 requestId, Round storage round) internal view virtual override returns (uint256) {
        return flaw == DisputeFlaw.SmallStakes ? 0 : super._movedBy(requestId, round);
    }
}
