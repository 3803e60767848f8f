// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {CouncilAgent} from "../../council/CouncilAgent.sol";
import {CouncilText} from "../../council/CouncilText.sol";

/// @title A judge with two flaws: it shows answers as they are, and takes the first one where its model names none
/// @dev For tests: the attacks on `CouncilJudge` succeed here.
contract TrustingJudge is CouncilAgent {
    constructor(AgentCouncilOracle oracle_, address owner, Settings memory settings)
        CouncilAgent(oracle_, owner, settings)
    {}

    function register(uint256 requestId) external payable onlyOwner {
        oracle.registerJudge{value: msg.value}(requestId);
    }

    function judge(uint256 requestId) external {
        (address[] memory agents, bytes[] memory answers) = oracle.getReveals(requestId);
        string memory verdict = _run(promptOf(requestId));
        (uint256 named,) = CouncilText.readVerdict(bytes(verdict), answers.length);
        uint256 first = 0;
        while (named != 0 && named >> first & 1 == 0) first++;
        address[] memory winners = new address[](1);
        winners[0] = agents[first];
        oracle.aggregate(requestId, answers[first], winners, bytes(verdict));
    }

    function promptOf(uint256 requestId) public view returns (string memory prompt) {
        AgentCouncilOracle.Request memory request = oracle.getRequest(requestId);
        (, bytes[] memory answers) = oracle.getReveals(requestId);
        prompt = string.concat('Question: "', _askedOf(request), '". Answers: ');
        for (uint256 i = 0; i < answers.length; i++) {
            prompt = string.concat(prompt, i == 0 ? "" : ", ", Strings.toString(i + 1), '. "', string(answers[i]), '"');
        }
        return string.concat(prompt, ". Which answers agree and are right?");
    }
}
