// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {RunOutcome} from "../libraries/RunOutcome.sol";
import {AgentCouncilOracle} from "./AgentCouncilOracle.sol";
import {CouncilAgent} from "./CouncilAgent.sol";
import {CouncilOptions} from "./CouncilOptions.sol";
import {CouncilText} from "./CouncilText.sol";

/// @title An on-chain agent that answers the questions of a council
/// @notice Its answer can be computed again from its block, and so can be known before it is revealed: a chain keeps no
///   secrets. What nobody can do is copy its commitment. Who wants a secret answers off the chain.
contract CouncilInfoAgent is CouncilAgent {
    /// @notice The agent has not answered this request.
    error NotAnswered(uint256 requestId);

    /// @notice The model's answer is no option, empty, or longer than can be revealed: it would lose the bond.
    error AnswerRefused(string answer);

    /// @dev What it committed to.
    struct Given {
        bytes answer;
        uint256 nonce;
    }

    mapping(uint256 requestId => Given) private given;

    constructor(AgentCouncilOracle oracle_, address owner, Settings memory settings)
        CouncilAgent(oracle_, owner, settings)
    {}

    /// @notice Answers a request and commits to the answer. For the owner; the call's value is the bond.
    ///   A run that is not done commits nothing: it reverts with `RunOutcome.NotDone`.
    /// @param nonce goes into the seed of the judge's draw
    function join(uint256 requestId, uint256 nonce) external payable onlyOwner returns (bytes memory answer) {
        AgentCouncilOracle.Request memory request = oracle.getRequest(requestId);
        string memory said = _run(_askedOf(request));
        answer = _optionOf(bytes(request.specifications), CouncilText.resultOf(said));
        // An option counts also where it begins like an answer that is not done, such as "Failed".
        if (answer.length == 0 || CouncilOptions.count(bytes(request.specifications)) == 0) RunOutcome.requireDone(said);
        if (answer.length == 0 || answer.length > oracle.MAX_ANSWER_BYTES()) revert AnswerRefused(said);
        given[requestId] = Given(answer, nonce);
        bytes32 commitment = oracle.commitmentOf(requestId, address(this), answer, nonce);
        oracle.commit{value: msg.value}(requestId, commitment);
    }

    /// @notice Reveals the answer. For everybody.
    function reveal(uint256 requestId) external {
        Given storage own = given[requestId];
        if (own.answer.length == 0) revert NotAnswered(requestId);
        oracle.reveal(requestId, own.answer, own.nonce);
    }

    /// @dev Returns the option that a text is but for its case, blanks, quotes and a full stop; of passages that were found, as
    ///   `RetrievalTool` labels them, the only option that they name. Empty if there is none. Of an open query the text.
    function _optionOf(bytes memory specifications, bytes memory said) private pure returns (bytes memory) {
        uint256 options = CouncilOptions.count(specifications);
        for (uint256 i = 1; i <= options; i++) {
            bytes memory option = CouncilOptions.get(specifications, i);
            if (CouncilText.isSame(option, said)) return option;
        }
        if (options == 0) return said;
        uint256 place = bytes5(said) == '[a] "' ? CouncilOptions.findOnly(specifications, said) : 0;
        return place == 0 ? bytes("") : CouncilOptions.get(specifications, place);
    }
}
