// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {AgentCouncilOracle} from "@pyevm-agents/contracts/council/AgentCouncilOracle.sol";
import {IAgentCouncilOracle} from "@pyevm-agents/contracts/council/IAgentCouncilOracle.sol";
import {ICouncil, Phase, Terms} from "@pyevm-agents/contracts/council/ICouncil.sol";
import {ICouncilReputation} from "@pyevm-agents/contracts/council/ICouncilReputation.sol";
import {CouncilParticipant} from "@pyevm-agents/contracts/test/council/CouncilParticipant.sol";
import {KnownScores} from "@pyevm-agents/contracts/test/council/KnownScores.sol";
import {RewardToken} from "@pyevm-agents/contracts/test/council/RewardToken.sol";

interface Vm {
    function deal(address account, uint256 balance) external;
    function prank(address sender) external;
    function roll(uint256 number) external;
    function warp(uint256 timestamp) external;
}

Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @title Does at random whatever moves a council's money
/// @notice Every call may be refused; what was paid in and taken out is counted, and phases are compared.
contract Actors {
    uint256 private constant MOST_AT_ONCE = 10;
    uint256 private constant INFO_AGENTS = 6;
    uint8 private constant PANEL = 3;

    AgentCouncilOracle public immutable oracle;
    RewardToken public immutable token;
    CouncilParticipant public immutable client;

    uint256 public paidIn;
    uint256 public takenOut;
    uint256 public tokensPaidIn;
    uint256 public tokensTakenOut;
    uint256 public sentUnasked;
    uint256 public tokensSentUnasked;
    uint256 private unaskedWei;
    uint256 private unaskedTokens;
    bool public wentBack;
    mapping(bytes32 name => uint256) public succeeded;
    mapping(uint256 requestId => Phase) private seen;

    address[] private people;
    uint256 private time = 1_000_000;
    uint256 private number = 1_000;

    /// @dev Time and block are this contract's, whatever the runner does between calls.
    modifier later(uint256 seconds_) {
        (time, number) = (time + seconds_, number + 1);
        VM.warp(time);
        VM.roll(number);
        (unaskedWei, unaskedTokens) = _gone();
        _;
        (uint256 goneWei, uint256 goneTokens) = _gone();
        sentUnasked += goneWei - unaskedWei;
        tokensSentUnasked += goneTokens - unaskedTokens;
        for (uint256 i = 1; i <= oracle.requestCount(); i++) {
            (Phase phase,) = oracle.phaseOf(i);
            if (phase < seen[i]) wentBack = true;
            seen[i] = phase;
        }
    }

    constructor() {
        Terms memory terms;
        (terms.revealTime, terms.drawTime, terms.judgeTime) = (600, 600, 600);
        (terms.disputeWindow, terms.disputeRegistrationTime, terms.callbackGas) = (500, 300, 100_000);
        (terms.judgeFee, terms.disputeBond, terms.seedDelay, terms.minBond) = (1_234, 15_001, 2, 1);
        (terms.disputerReimbursement, terms.judgeReimbursement) = (4_999, 3_333);
        (terms.minDisputeJudgeReputation, terms.disputeJudges) = (1, PANEL);
        terms.deterministic = true;
        KnownScores scores = new KnownScores();
        oracle = new AgentCouncilOracle(terms, ICouncilReputation(address(scores)));
        token = new RewardToken(RewardToken.Answer.Nothing, 1e30);
        client = new CouncilParticipant();
        for (uint256 i = 0; i < 12; i++) people.push(address(uint160(0x1000 + i)));
        for (uint256 i = 0; i < 12; i++) VM.deal(people[i], 1e30);
        scores.setScores(people, 1);
        people.push(address(client));
        people.push(address(this));
        VM.deal(address(this), 1e30);
    }

    // ---- What happens

    function ask(uint256 agents, uint256 reward, uint256 bond, uint256 kind) external later(1) {
        uint256 open = 0;
        for (uint256 i = 1; i <= oracle.requestCount(); i++) if (seen[i] < Phase.Distributed) open++;
        if (open >= MOST_AT_ONCE) return;
        (agents, reward, bond) = (agents % INFO_AGENTS + 1, reward % 1e18 + 1, bond % 1e17 + 1);
        address rewardToken = kind % 3 == 0 ? address(token) : address(0);
        IAgentCouncilOracle.AgentCapabilities memory none;
        bytes memory data = abi.encodeCall(
            IAgentCouncilOracle.createRequest,
            ("?", agents, bond, time + 500, rewardToken, kind % 2 == 0 ? "OPTIONS: a|b|c" : "", none)
        );
        uint256 value = rewardToken == address(0) ? reward : 0;
        if (rewardToken != address(0)) _tokenCall(abi.encodeCall(RewardToken.approve, (address(oracle), reward)));
        bool success = false;
        if (kind % 5 == 0 && value > 0) {
            success = _try(address(client), abi.encodeCall(CouncilParticipant.call, (address(oracle), data)), value);
        } else {
            success = _try(address(oracle), data, value);
        }
        if (!success) return;
        _count("ask", value);
        if (value == 0) tokensPaidIn += reward;
    }

    function commit(uint256 which, uint256 who, uint256 extra) external later(1) {
        uint256 requestId = _pick(which, Phase.Commit);
        address agent = people[who % INFO_AGENTS];
        (bytes memory answer, uint256 nonce) = _answerOf(requestId, agent);
        bytes32 commitment = keccak256(abi.encode(block.chainid, address(oracle), requestId, agent, answer, nonce));
        uint256 value = oracle.getRequest(requestId).bondAmount + (extra % 20 == 0 ? 1 : 0);
        bytes memory data = abi.encodeCall(IAgentCouncilOracle.commit, (requestId, commitment));
        if (_tryAs(agent, data, value)) _count("commit", value);
    }

    function reveal(uint256 which, uint256 who) external later(1) {
        _reveal(_pick(which, Phase.Reveal), people[who % INFO_AGENTS]);
    }

    function revealAll(uint256 which) external later(1) {
        uint256 requestId = _pick(which, Phase.Reveal);
        for (uint256 i = 0; i < INFO_AGENTS; i++) _reveal(requestId, people[i]);
    }

    function register(uint256 which, uint256 who, bool ofDispute) external later(1) {
        uint256 requestId = _pick(which, ofDispute ? Phase.DisputeRegistration : Phase.Commit);
        (Phase phase,) = oracle.phaseOf(requestId);
        uint256 value = oracle.judgeBondOf(requestId, phase == Phase.DisputeRegistration);
        bytes memory data = abi.encodeCall(ICouncil.registerJudge, (requestId));
        if (_tryAs(people[who % 12], data, value)) _count(ofDispute ? bytes32("register2") : bytes32("register"), value);
    }

    function aggregate(uint256 which, uint256 best) external later(1) {
        uint256 requestId = _pick(which, Phase.Judge);
        address judge = _judgeOf(requestId, false, 0);
        (bytes memory answer, address[] memory winners) = _verdict(requestId, best);
        bytes memory data = abi.encodeCall(IAgentCouncilOracle.aggregate, (requestId, answer, winners, "so"));
        if (_tryAs(judge, data, 0)) _count("aggregate", 0);
    }

    function dispute(uint256 which, uint256 who) external later(1) {
        uint256 requestId = _pick(which, Phase.Window);
        uint256 value = oracle.disputeBondOf(requestId);
        bytes memory data = abi.encodeCall(IAgentCouncilOracle.initiateDispute, (requestId, "wrong"));
        if (_tryAs(people[who % 12], data, value)) _count("dispute", value);
    }

    function registerAll(uint256 which, uint256 first) external later(1) {
        uint256 requestId = _pick(which, Phase.DisputeRegistration);
        uint256 value = oracle.judgeBondOf(requestId, true);
        bytes memory data = abi.encodeCall(ICouncil.registerJudge, (requestId));
        for (uint256 i = 0; i < 12; i++) {
            if (_tryAs(people[(first % 12 + i) % 12], data, value)) _count("register2", value);
        }
    }

    function release(uint256 which, uint256 who) external later(1) {
        bytes memory data = abi.encodeCall(ICouncil.releaseJudge, (_pick(which, Phase.Distributed), people[who % 12]));
        if (_try(address(oracle), data, 0)) _count("release", 0);
    }

    function declare(uint256 which, uint256 value) external later(1) {
        bytes memory data = abi.encodeCall(ICouncil.declareValue, (_pick(which, Phase.Commit), value % 1e18));
        if (_try(address(oracle), data, 0)) _count("declare", 0);
    }

    function payDirectly(uint256 which) external later(1) {
        bytes memory data = abi.encodeCall(ICouncil.payDirectly, (_pick(which, Phase.Commit)));
        if (_try(address(oracle), data, 0)) _count("payDirectly", 0);
    }

    function rule(uint256 which, bool overturn, uint256 best) external later(1) {
        uint256 requestId = _pick(which, Phase.DisputeJudge);
        address judge = _judgeOf(requestId, true, which);
        (bytes memory answer, address[] memory winners) = _verdict(requestId, best);
        bytes memory data = abi.encodeCall(IAgentCouncilOracle.resolveDispute, (requestId, overturn, answer, winners));
        if (_tryAs(judge, data, 0)) _count(overturn ? bytes32("overturn") : bytes32("uphold"), 0);
    }

    function advance(uint256 which, uint256 wait) external later(wait % 200) {
        uint256 requestId = _pick(which, Phase(wait % 9 + 1));
        if (_try(address(oracle), abi.encodeCall(ICouncil.advance, (requestId)), 0)) _count("advance", 0);
    }

    function distribute(uint256 which) external later(1) {
        uint256 requestId = _pick(which, Phase.Resolved);
        if (_try(address(oracle), abi.encodeCall(IAgentCouncilOracle.distributeRewards, (requestId)), 0)) {
            _count("distribute", 0);
        }
    }

    function callBack(uint256 which, uint256 behaviour) external later(1) {
        uint256 requestId = _pick(which, Phase.Distributed);
        bytes memory again = abi.encodeCall(ICouncil.withdraw, (address(0), payable(address(client))));
        client.behave(CouncilParticipant.Behaviour(behaviour % 5), address(oracle), again, 2);
        address requester = oracle.getRequest(requestId).requester;
        if (_try(address(oracle), abi.encodeCall(ICouncil.callback, (requester, requestId)), 0)) _count("callback", 0);
    }

    function withdraw(uint256 who, bool ofToken) external later(1) {
        if (_withdraw(people[who % people.length], ofToken ? address(token) : address(0))) _count("withdraw", 0);
    }

    function passTime(uint256 seconds_) external later(seconds_ % 700) {}

    // ---- The end

    /// @notice Lets all timeouts pass: each request ends with at most ten calls of anybody. Then all
    ///   money goes out.
    function endAll() external later(1) {
        for (uint256 i = 1; i <= oracle.requestCount(); i++) {
            for (uint256 tries = 0; tries < 10; tries++) {
                (Phase phase, uint256 endsAt) = oracle.phaseOf(i);
                if (phase >= Phase.Distributed) break;
                if (time <= endsAt) time = endsAt + 1;
                VM.warp(time);
                (phase, endsAt) = oracle.phaseOf(i);
                if (phase == Phase.Resolved) oracle.distributeRewards(i);
                else if (time > endsAt) oracle.advance(i);
            }
            (Phase last,) = oracle.phaseOf(i);
            require(last >= Phase.Distributed, "the request did not end");
            for (uint256 j = 0; j < 12; j++) _try(address(oracle), abi.encodeCall(ICouncil.releaseJudge, (i, people[j])), 0);
        }
        for (uint256 i = 0; i < people.length; i++) {
            if (oracle.claimable(address(0), people[i]) > 0) require(_withdraw(people[i], address(0)), "no withdrawal");
            if (oracle.claimable(address(token), people[i]) > 0) {
                require(_withdraw(people[i], address(token)), "no withdrawal of tokens");
            }
        }
    }

    /// @notice Returns all that the oracle owes.
    function owed() external view returns (uint256 ofWei, uint256 ofToken) {
        for (uint256 i = 0; i < people.length; i++) {
            ofWei += oracle.claimable(address(0), people[i]);
            ofToken += oracle.claimable(address(token), people[i]);
        }
        for (uint256 i = 1; i <= oracle.requestCount(); i++) {
            (uint256 moreWei, uint256 moreTokens) = oracle.escrowOf(i);
            (ofWei, ofToken) = (ofWei + moreWei, ofToken + moreTokens);
        }
    }

    receive() external payable {}

    // ---- Private

    /// @dev What has left the oracle beside withdrawals: it was sent unasked, as requesters chose.
    function _gone() private view returns (uint256 ofWei, uint256 ofToken) {
        ofWei = paidIn - takenOut - address(oracle).balance;
        ofToken = tokensPaidIn - tokensTakenOut - token.balanceOf(address(oracle));
    }

    function _count(bytes32 name, uint256 value) private {
        succeeded[name]++;
        paidIn += value;
    }

    function _try(address to, bytes memory data, uint256 value) private returns (bool success) {
        (success,) = to.call{value: value}(data);
    }

    function _tryAs(address who, bytes memory data, uint256 value) private returns (bool success) {
        VM.prank(who);
        (success,) = address(oracle).call{value: value}(data);
    }

    function _tokenCall(bytes memory data) private {
        (bool success,) = address(token).call(data);
        require(success, "the token refused");
    }

    function _withdraw(address holder, address asset) private returns (bool success) {
        uint256 amount = oracle.claimable(asset, holder);
        bytes memory data = abi.encodeCall(ICouncil.withdraw, (asset, payable(address(0xEE))));
        if (holder == address(client)) {
            success = _try(holder, abi.encodeCall(CouncilParticipant.call, (address(oracle), data)), 0);
        } else {
            success = _tryAs(holder, data, 0);
        }
        if (!success) return false;
        if (asset == address(0)) takenOut += amount;
        else tokensTakenOut += amount;
    }

    function _reveal(uint256 requestId, address agent) private {
        (bytes memory answer, uint256 nonce) = _answerOf(requestId, agent);
        if (_tryAs(agent, abi.encodeCall(IAgentCouncilOracle.reveal, (requestId, answer, nonce)), 0)) _count("reveal", 0);
    }

    function _answerOf(uint256 requestId, address agent) private pure returns (bytes memory answer, uint256 nonce) {
        nonce = uint256(keccak256(abi.encode(requestId, agent)));
        answer = new bytes(1);
        answer[0] = bytes1(uint8(0x61 + nonce % 4)); // a, b, c, or d, which is no option
    }

    /// @dev One of the judges that were drawn; this contract if none was.
    function _judgeOf(uint256 requestId, bool ofDispute, uint256 who) private view returns (address) {
        (address[] memory judges,) = oracle.judgesOf(requestId, ofDispute);
        return judges.length == 0 ? address(this) : judges[who % judges.length];
    }

    /// @dev One of the answers, and all who gave it.
    function _verdict(uint256 requestId, uint256 best)
        private
        view
        returns (bytes memory answer, address[] memory winners)
    {
        (address[] memory agents, bytes[] memory answers) = oracle.getReveals(requestId);
        if (agents.length == 0) return (answer, winners);
        answer = answers[best % agents.length];
        winners = new address[](agents.length);
        uint256 count = 0;
        for (uint256 i = 0; i < agents.length; i++) {
            if (keccak256(answers[i]) == keccak256(answer)) winners[count++] = agents[i];
        }
        assembly ("memory-safe") {
            mstore(winners, count)
        }
    }

    /// @dev Three of four times a request in this phase, if there is one.
    function _pick(uint256 which, Phase wanted) private view returns (uint256) {
        uint256 count = oracle.requestCount();
        if (count == 0) return 0;
        for (uint256 i = 0; which % 4 != 0 && i < count; i++) {
            uint256 requestId = (which / 4 + i) % count + 1;
            (Phase phase,) = oracle.phaseOf(requestId);
            if (phase == wanted) return requestId;
        }
        return which / 4 % count + 1;
    }
}

/// @title No money is created, lost or stuck, and no request goes back to an earlier phase
contract CouncilAccountsTest {
    Actors private actors;

    function setUp() external {
        actors = new Actors();
    }

    /// @notice Tells forge whose functions to call.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(actors);
    }

    function excludeSelectors() external view returns (FuzzSelector[] memory excluded) {
        excluded = new FuzzSelector[](1);
        excluded[0].addr = address(actors);
        excluded[0].selectors = new bytes4[](1);
        excluded[0].selectors[0] = Actors.endAll.selector;
    }

    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    function invariant_BalancesAreWhatIsOwed() external view {
        (uint256 ofWei, uint256 ofToken) = actors.owed();
        uint256 tokens = actors.token().balanceOf(address(actors.oracle()));
        require(address(actors.oracle()).balance == ofWei, "the balance is not what is owed");
        require(tokens == ofToken, "the tokens are not what is owed");
        uint256 unasked = actors.sentUnasked() + actors.tokensSentUnasked();
        require(unasked == 0 || actors.succeeded("payDirectly") > 0, "money was sent that nobody asked for");
        require(ofWei == actors.paidIn() - actors.takenOut() - actors.sentUnasked(), "the balance is not what was paid in");
        uint256 tokensOut = actors.tokensTakenOut() + actors.tokensSentUnasked();
        require(ofToken == actors.tokensPaidIn() - tokensOut, "the tokens are not what was paid in");
        require(!actors.wentBack(), "a request went back to an earlier phase");
    }

    /// @notice Runs at the end of each sequence.
    function afterInvariant() external {
        actors.endAll();
        (uint256 ofWei, uint256 ofToken) = actors.owed();
        require(ofWei == 0 && ofToken == 0, "money is still owed");
        require(address(actors.oracle()).balance == 0, "wei are stuck");
        require(actors.token().balanceOf(address(actors.oracle())) == 0, "tokens are stuck");
    }
}
