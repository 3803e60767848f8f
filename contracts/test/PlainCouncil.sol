// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {IAgentCouncilOracle} from "../council/IAgentCouncilOracle.sol";

/// @title An oracle that has ERC-8033's interface alone
/// @notice Where the ERC leaves something open it does as the ERC authors' draft: commitments are
///   `keccak256(abi.encode(answer, nonce))`, judges register after the reveals and post their bond when they are drawn, and
///   `distributeRewards` pays. It has no ERC-165 and no disputes. For tests: it does not guard money.
contract PlainCouncil is IAgentCouncilOracle {
    error Refused(string why);

    struct State {
        Request request;
        bytes required;
        address[] agents;
        bytes32[] commitments;
        address[] revealed;
        bytes[] answers;
        address[] candidates;
        address judge;
        bool isBondPosted;
        bytes finalAnswer;
        address[] winners;
        bool isFinal;
        bool isPaid;
    }

    uint256 public immutable revealTime;
    uint256 private last;
    mapping(uint256 requestId => State) private states;

    constructor(uint256 revealTime_) {
        revealTime = revealTime_;
    }

    function createRequest(
        string calldata query,
        uint256 numInfoAgents,
        uint256 bondAmount,
        uint256 deadline,
        address rewardToken,
        string calldata specifications,
        AgentCapabilities calldata requiredCapabilities
    ) external payable returns (uint256 requestId) {
        if (rewardToken != address(0) || msg.value == 0) revert Refused("reward");
        requestId = ++last;
        Request storage request = states[requestId].request;
        request.requester = msg.sender;
        request.reward = msg.value;
        request.bondAmount = bondAmount;
        request.numInfoAgents = numInfoAgents;
        request.deadline = deadline;
        (request.query, request.specifications) = (query, specifications);
        states[requestId].required = abi.encode(requiredCapabilities);
        emit RequestCreated(requestId, msg.sender, query, msg.value, numInfoAgents, bondAmount);
    }

    function commit(uint256 requestId, bytes32 commitment) external payable {
        State storage state = states[requestId];
        if (state.agents.length >= state.request.numInfoAgents) revert Refused("full");
        if (block.timestamp >= state.request.deadline) revert Refused("late");
        if (msg.value != state.request.bondAmount) revert Refused("bond");
        if (_placeOf(state.agents, msg.sender) > 0) revert Refused("twice");
        state.agents.push(msg.sender);
        state.commitments.push(commitment);
        emit AgentCommitted(requestId, msg.sender, commitment);
    }

    function reveal(uint256 requestId, bytes calldata answer, uint256 nonce) external {
        State storage state = states[requestId];
        bool isFull = state.agents.length == state.request.numInfoAgents;
        if (!isFull && block.timestamp < state.request.deadline) revert Refused("early");
        if (block.timestamp > state.request.deadline + revealTime) revert Refused("late");
        uint256 place = _placeOf(state.agents, msg.sender);
        if (place == 0 || _placeOf(state.revealed, msg.sender) > 0) revert Refused("agent");
        if (state.commitments[place - 1] != keccak256(abi.encode(answer, nonce))) revert Refused("commitment");
        state.revealed.push(msg.sender);
        state.answers.push(answer);
        emit AgentRevealed(requestId, msg.sender, answer);
    }

    function registerJudgeForRequest(uint256 requestId) external {
        State storage state = states[requestId];
        if (!_areRevealsOver(state) || state.judge != address(0)) revert Refused("phase");
        state.candidates.push(msg.sender);
    }

    function selectJudge(uint256 requestId) external {
        State storage state = states[requestId];
        if (!_areRevealsOver(state) || state.judge != address(0)) revert Refused("phase");
        if (state.candidates.length == 0) revert Refused("candidates");
        state.judge = state.candidates[uint256(blockhash(block.number - 1)) % state.candidates.length];
        emit JudgeSelected(requestId, state.judge);
    }

    function postJudgeBond(uint256 requestId) external payable {
        State storage state = states[requestId];
        if (msg.sender != state.judge || state.isBondPosted) revert Refused("judge");
        if (msg.value != getJudgeBondAmount(requestId)) revert Refused("bond");
        state.isBondPosted = true;
    }

    function aggregate(uint256 requestId, bytes calldata finalAnswer, address[] calldata winners, bytes calldata)
        external
    {
        State storage state = states[requestId];
        if (msg.sender != state.judge || state.isFinal) revert Refused("judge");
        if (!state.isBondPosted) revert Refused("no bond");
        (state.finalAnswer, state.winners, state.isFinal) = (finalAnswer, winners, true);
        emit ResolutionFinalized(requestId, finalAnswer);
    }

    function distributeRewards(uint256 requestId) external {
        State storage state = states[requestId];
        if (!state.isFinal || state.isPaid) revert Refused("phase");
        state.isPaid = true;
        uint256 pot = state.request.reward + state.request.bondAmount * state.agents.length;
        uint256[] memory amounts = new uint256[](state.winners.length);
        _pay(state.judge, getJudgeBondAmount(requestId));
        for (uint256 i = 0; i < state.winners.length; i++) {
            amounts[i] = pot / state.winners.length;
            _pay(state.winners[i], amounts[i]);
        }
        emit RewardsDistributed(requestId, state.winners, amounts);
    }

    function initiateDispute(uint256, string calldata) external payable {
        revert Refused("disputes");
    }

    function resolveDispute(uint256, bool, bytes calldata, address[] calldata) external pure {
        revert Refused("disputes");
    }

    function getRequest(uint256 requestId) external view returns (Request memory request) {
        request = states[requestId].request;
        if (requestId == 0 || requestId > last) revert Refused("request");
        request.requiredCapabilities = abi.decode(states[requestId].required, (AgentCapabilities));
    }

    function getCommits(uint256 requestId) external view returns (address[] memory, bytes32[] memory) {
        return (states[requestId].agents, states[requestId].commitments);
    }

    function getReveals(uint256 requestId) external view returns (address[] memory, bytes[] memory) {
        return (states[requestId].revealed, states[requestId].answers);
    }

    function getResolution(uint256 requestId) external view returns (bytes memory, bool) {
        return (states[requestId].finalAnswer, states[requestId].isFinal);
    }

    function getJudgeBondAmount(uint256 requestId) public view returns (uint256) {
        return states[requestId].request.bondAmount * 2;
    }

    function getRevealDeadline(uint256 requestId) external view returns (uint256) {
        return states[requestId].request.deadline + revealTime;
    }

    function judgeCount(uint256 requestId) external view returns (uint256) {
        return states[requestId].candidates.length;
    }

    function getJudgeAt(uint256 requestId, uint256 place) external view returns (address) {
        return states[requestId].candidates[place];
    }

    function _areRevealsOver(State storage state) private view returns (bool) {
        bool isLate = block.timestamp > state.request.deadline + revealTime;
        return state.agents.length > 0 && (isLate || state.revealed.length == state.agents.length);
    }

    function _pay(address to, uint256 amount) private {
        (bool isPaid,) = to.call{value: amount}("");
        if (!isPaid) revert Refused("payment");
    }

    function _placeOf(address[] storage accounts, address account) private view returns (uint256) {
        for (uint256 i = 0; i < accounts.length; i++) if (accounts[i] == account) return i + 1;
        return 0;
    }
}
