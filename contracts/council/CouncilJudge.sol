// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {AgentCouncilOracle} from "./AgentCouncilOracle.sol";
import {CouncilAgent} from "./CouncilAgent.sol";
import {CouncilOptions} from "./CouncilOptions.sol";
import {CouncilText} from "./CouncilText.sol";
import {Phase} from "./ICouncil.sol";

/// @title A judge whose reasoning is a model's, in the transaction that resolves the request
/// @notice `judge(requestId)` is open to all: it reads the answers, asks the model, and resolves. The prompt is a function
///   of the chain's state, so anybody can compute the verdict again.
contract CouncilJudge is CouncilAgent {
    /// @notice The model named no answer.
    error VerdictMalformed(string verdict);

    /// @notice The request waits for no judge.
    error NothingToJudge(uint256 requestId, Phase phase);

    /// @notice It judged.
    event Judged(uint256 indexed requestId, string verdict, bytes finalAnswer, address[] winners);

    uint256 public constant MAX_SHOWN_BYTES = 160; // of each answer, so that a council's fit into a context

    constructor(AgentCouncilOracle oracle_, address owner, Settings memory settings)
        CouncilAgent(oracle_, owner, settings)
    {}

    /// @notice Registers as a candidate, for the request or its dispute. For the owner; the call's value is the oracle's
    ///   `judgeBondOf`.
    function register(uint256 requestId) external payable onlyOwner {
        oracle.registerJudge{value: msg.value}(requestId);
    }

    /// @notice Judges a request, or its dispute, for which this judge was drawn. For everybody.
    function judge(uint256 requestId) external {
        (Phase phase,) = oracle.phaseOf(requestId);
        if (phase != Phase.Judge && phase != Phase.DisputeJudge) revert NothingToJudge(requestId, phase);
        (address[] memory agents, bytes[] memory answers) = oracle.getReveals(requestId);
        AgentCouncilOracle.Request memory request = oracle.getRequest(requestId);
        string memory verdict = _runOrRevert(_prompt(request, answers));
        bool isDiscrete = CouncilOptions.count(bytes(request.specifications)) > 0;
        (uint256 named, bytes memory finalAnswer) = _decide(CouncilText.resultOf(verdict), answers, isDiscrete);
        address[] memory winners = _winners(agents, named);
        emit Judged(requestId, verdict, finalAnswer, winners);
        if (phase == Phase.Judge) {
            bytes memory reasoning = bytes(string.concat("model ", modelId, ": ", verdict));
            oracle.aggregate(requestId, finalAnswer, winners, reasoning);
        } else {
            (bytes memory disputed,) = oracle.getResolution(requestId);
            oracle.resolveDispute(requestId, !CouncilText.isSame(disputed, finalAnswer), finalAnswer, winners);
        }
    }

    /// @notice Returns what the model is asked.
    function promptOf(uint256 requestId) external view returns (string memory) {
        (, bytes[] memory answers) = oracle.getReveals(requestId);
        return _prompt(oracle.getRequest(requestId), answers);
    }

    function _prompt(AgentCouncilOracle.Request memory request, bytes[] memory answers)
        private
        pure
        returns (string memory prompt)
    {
        prompt = string.concat("Question: ", CouncilText.quote(bytes(_askedOf(request)), 2_048), ". Answers: ");
        for (uint256 i = 0; i < answers.length; i++) {
            string memory shown = CouncilText.quote(answers[i], MAX_SHOWN_BYTES);
            prompt = string.concat(prompt, i == 0 ? "" : ", ", Strings.toString(i + 1), ". ", shown);
        }
        return string.concat(
            prompt,
            ". Which answers agree and are right? Give their numbers, a colon, and the final answer, such as 1, 2: Paris"
        );
    }

    /// @dev Winners are the answers that the verdict names, and those that say the same. A verdict without a colon may be an
    ///   answer itself: as it stands, or but for case, blanks, quotes and a full stop. The final answer of a discrete query is
    ///   the first named answer, as it stands.
    function _decide(bytes memory verdict, bytes[] memory answers, bool isDiscrete)
        private
        pure
        returns (uint256 named, bytes memory finalAnswer)
    {
        (named, finalAnswer) = CouncilText.readVerdict(verdict, answers.length);
        if (finalAnswer.length == 0) {
            uint256 same = _withSame(0, answers, verdict, isDiscrete);
            if (same == 0) same = _withSame(0, answers, verdict, false);
            if (same > 0) named = same;
        }
        if (named == 0) revert VerdictMalformed(string(verdict));
        uint256 first = 0;
        while (named >> first & 1 == 0) first++;
        if (isDiscrete) return (_withSame(0, answers, answers[first], true), answers[first]);
        for (uint256 i = 0; i < answers.length; i++) {
            if (named >> i & 1 == 1) named = _withSame(named, answers, answers[i], false);
        }
        if (finalAnswer.length == 0) finalAnswer = answers[first];
    }

    function _withSame(uint256 named, bytes[] memory answers, bytes memory text, bool isExact)
        private
        pure
        returns (uint256)
    {
        for (uint256 i = 0; i < answers.length; i++) {
            bool isSame = isExact ? keccak256(answers[i]) == keccak256(text) : CouncilText.isSame(answers[i], text);
            if (isSame) named |= 1 << i;
        }
        return named;
    }

    function _winners(address[] memory agents, uint256 named) private pure returns (address[] memory winners) {
        winners = new address[](agents.length);
        uint256 count = 0;
        for (uint256 i = 0; i < agents.length; i++) if (named >> i & 1 == 1) winners[count++] = agents[i];
        assembly ("memory-safe") {
            mstore(winners, count)
        }
    }
}
