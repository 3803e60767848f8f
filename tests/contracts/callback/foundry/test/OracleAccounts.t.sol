// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AgentOracle} from "@pyevm-agents/contracts/callback/AgentOracle.sol";
import {CallbackAgent} from "@pyevm-agents/contracts/callback/CallbackAgent.sol";
import {Answer, Commitment, Evidence, IAgentOracle, Order} from "@pyevm-agents/contracts/callback/IAgentOracle.sol";
import {OracleAgent} from "@pyevm-agents/contracts/callback/OracleAgent.sol";
import {SimpleCallbackAgent} from "@pyevm-agents/contracts/callback/SimpleCallbackAgent.sol";
import {AgentIterationResult} from "@pyevm-agents/contracts/interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";
import {AsynchronousTool} from "@pyevm-agents/contracts/test/callback/AsynchronousTool.sol";
import {GreedyTool} from "@pyevm-agents/contracts/test/callback/GreedyTool.sol";
import {OracleAccounts} from "@pyevm-agents/contracts/test/callback/OracleAccounts.sol";
import {OracleClient} from "@pyevm-agents/contracts/test/callback/OracleClient.sol";
import {ResultHandler} from "@pyevm-agents/contracts/test/callback/ResultHandler.sol";

interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function addr(uint256 key) external pure returns (address);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function deal(address account, uint256 balance) external;
    function prank(address sender) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function roll(uint256 number) external;
    function warp(uint256 timestamp) external;
}

Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @title Does at random whatever moves an oracle's wei
/// @notice Every call may be refused; what was paid in and taken out is counted.
contract Actors {
    AgentOracle public immutable oracle;
    OracleClient[2] public clients;
    SimpleCallbackAgent public immutable agent;
    AsynchronousTool public immutable tool;
    GreedyTool public immutable greedyTool;
    ResultHandler public immutable handler;
    OracleAccounts private immutable accounts;

    uint256 public paidIn;
    uint256 public takenOut;
    mapping(bytes32 name => uint256) public succeeded;

    uint256[3] private keys = [uint256(0xA11CE), 0xB0B, 0xBAD]; // two workers and a stranger
    address[] private holders;
    Commitment[] private requests;
    mapping(uint256 requestId => uint256) private placeOf; // in `requests`, from 1 on
    uint256 private time = 1_000_000;
    uint256 private number = 1_000;

    /// @dev Time and block are this contract's, whatever the runner does between calls.
    modifier later(uint256 seconds_) {
        time += seconds_;
        number += 1;
        VM.warp(time);
        VM.roll(number);
        VM.recordLogs();
        _;
        _keepRequests();
    }

    constructor() {
        oracle = new AgentOracle(address(this), AgentOracle.Prices(1e15, 1 gwei, 300_000));
        accounts = new OracleAccounts();
        handler = new ResultHandler();
        tool = new AsynchronousTool(AsynchronousTool.Behaviour.Later);
        greedyTool = new GreedyTool(GreedyTool.Behaviour.BurnGas, 0, 0);
        IERCAgentTool[] memory tools = new IERCAgentTool[](2);
        (tools[0], tools[1]) = (tool, greedyTool);
        agent = new SimpleCallbackAgent(
            OracleAgent.OracleSettings(oracle, 1_500_000, 1800, 7200), "m", "A", "d", "w", "b", tools, 3
        );
        for (uint256 i = 0; i < 2; i++) {
            clients[i] = new OracleClient(address(oracle));
            holders.push(address(clients[i]));
            oracle.setWorker(VM.addr(keys[i]), true);
        }
        for (uint256 i = 0; i < 3; i++) holders.push(VM.addr(keys[i]));
        holders.push(address(handler));
        holders.push(address(this));
        VM.deal(address(this), 1e30);
        subscribe(1e17);
    }

    // ---- Requests

    function open(uint256 client, uint256 steps, uint256 payer, uint256 subscription, uint256 gas) external later(1) {
        Order memory order;
        order.arguments = abi.encode(steps);
        order.steps = uint16(steps % 3 + 1);
        order.callbackGasLimit = uint32(gas % 600_000);
        order.lifetime = 7200;
        order.timeout = 1800;
        order.payer = holders[payer % holders.length];
        order.subscriptionId = uint64(subscription % 5);
        if (order.subscriptionId > 2) order.subscriptionId = 0;
        uint256 value = order.subscriptionId == 0 ? oracle.feeOf(order.callbackGasLimit) * order.steps + payer % 2 : 0;
        if (_byClient(client, abi.encodeCall(IAgentOracle.request, (order)), value)) _count("request", value);
    }

    function requestAgain(uint256 which) external later(1) {
        if (requests.length == 0) return;
        Commitment memory old = _pick(which);
        Order memory order;
        (order.budgetId, order.timeout) = (old.budgetId, 1800);
        uint256 client = old.client == address(clients[0]) ? 0 : 1;
        if (_byClient(client, abi.encodeCall(IAgentOracle.request, (order)), 0)) _count("requestAgain", 0);
    }

    function ask(uint256 asker) external later(1) {
        uint256 value = agent.costOfRun() + asker % 3;
        bytes memory data = abi.encodeCall(CallbackAgent.ask, ("do", address(handler)));
        bool success;
        if (asker % 2 == 0) {
            (success,) = address(agent).call{value: value}(data);
        } else {
            (success,) = address(handler).call{value: value}(abi.encodeCall(ResultHandler.call, (address(agent), data)));
        }
        if (success) _count("ask", value);
    }

    function run() external later(1) {
        IERCAgentTool.Input memory input;
        input.params = new IERCAgentTool.ParamValue[](1);
        input.params[0].value = abi.encode("do");
        if (_try(address(agent), abi.encodeCall(IERCAgentTool.run, (input, address(handler))), 0)) _count("run", 0);
    }

    // ---- Answers

    function answer(uint256 which, uint256 worker, uint256 kind, uint256 gas) external later(12) {
        _answer(which, worker, kind, gas);
    }

    /// @notice Answers the latest request again and again, as honest workers do with an agent's run.
    function serve(uint256 kinds) external {
        for (uint256 i = 0; i < 4; i++) {
            this.serveOne(kinds);
            kinds /= 5;
        }
    }

    function serveOne(uint256 kind) external later(12) {
        _answer(1, 0, kind % 5, 2_999_999);
    }

    function _answer(uint256 which, uint256 worker, uint256 kind, uint256 gas) private {
        if (requests.length == 0) return;
        Commitment memory commitment = _pick(which);
        bytes memory output = commitment.client == address(agent) ? _iteration(kind) : abi.encode(kind);
        bytes memory data = _signed(commitment, kind % 7 == 6, output, keys[worker % 5 / 2]);
        (bool success,) = address(oracle).call{gas: 1_000_000 + gas % 3_000_000}(data);
        if (success) _count("answer", 0);
    }

    function finishTool(uint256 back, bool fails) external later(1) {
        int256 runId = tool.runCount() - 1 - int256(back % 3);
        if (_try(address(tool), abi.encodeCall(tool.finish, (runId, fails ? "FAILED: no" : "yes")), 0)) {
            _count("finishTool", 0);
        }
    }

    function expire(uint256 which, bool waits) external later(1) {
        if (requests.length == 0) return;
        Commitment memory commitment = _pick(which);
        if (waits && time <= commitment.deadline) {
            time = commitment.deadline + 1;
            VM.warp(time);
        }
        if (_try(address(oracle), abi.encodeCall(IAgentOracle.expire, (commitment)), 0)) _count("expire", 0);
    }

    function retry(uint256 which, uint256 gas) external later(1) {
        if (requests.length == 0) return;
        bytes memory data = abi.encodeCall(IAgentOracle.retry, (requests[which % requests.length].requestId));
        (bool success,) = address(oracle).call{gas: 100_000 + gas % 6_000_000}(data);
        if (success) _count("retry", 0);
    }

    function endRun(uint256 back, bool expires) external later(1) {
        int256 runId = agent.currentRunId() - int256(back % 3);
        bytes memory data =
            expires ? abi.encodeCall(CallbackAgent.expireRun, (runId)) : abi.encodeCall(CallbackAgent.deliver, (runId));
        if (_try(address(agent), data, 0)) _count(expires ? bytes32("expireRun") : bytes32("deliver"), 0);
    }

    // ---- Wei

    function release(uint256 which, bool byClient) external later(1) {
        uint256 budgets = oracle.budgetCount();
        if (budgets == 0) return;
        uint256 budgetId = which % budgets + 1;
        (address client,,,,,,,) = oracle.budgets(budgetId);
        bytes memory data = abi.encodeCall(IAgentOracle.release, (budgetId));
        bool success =
            byClient ? _byClient(client == address(clients[0]) ? 0 : 1, data, 0) : _try(address(oracle), data, 0);
        if (success) _count("release", 0);
    }

    function withdraw(uint256 who) external later(1) {
        if (_withdraw(holders[who % holders.length])) _count("withdraw", 0);
    }

    function subscribe(uint256 amount) public later(1) {
        amount %= 1e18;
        if (!_try(address(oracle), abi.encodeCall(AgentOracle.subscribe, ()), amount)) return;
        _count("subscribe", amount);
        uint64 subscriptionId = oracle.subscriptionCount();
        for (uint256 i = 0; i < 2; i++) oracle.setConsumer(subscriptionId, address(clients[i]), true);
        oracle.setConsumer(subscriptionId, address(agent), true);
        agent.setSubscription(subscriptionId);
    }

    function fund(uint64 subscriptionId, uint256 amount) external later(1) {
        amount %= 1e18;
        if (_try(address(oracle), abi.encodeCall(AgentOracle.fund, (subscriptionId % 3)), amount)) {
            _count("fund", amount);
        }
    }

    function cancel(uint64 subscriptionId) external later(1) {
        if (_try(address(oracle), abi.encodeCall(AgentOracle.cancel, (subscriptionId % 4)), 0)) _count("cancel", 0);
    }

    // ---- Settings

    function setPrices(uint256 which) external later(1) {
        if (which % 4 == 0) oracle.setPrices(AgentOracle.Prices(0, 0, 0));
        else oracle.setPrices(AgentOracle.Prices(uint96(which % 1e16), 1 gwei, 300_000));
    }

    function setWorker(bool registered) external later(1) {
        oracle.setWorker(VM.addr(keys[1]), registered);
    }

    function misbehave(uint256 client, uint256 behaviour, uint256 ofHandler) external later(1) {
        clients[client % 2].behave(OracleClient.Behaviour(behaviour % 6), 20);
        handler.behave(ResultHandler.Behaviour(ofHandler % 4));
    }

    function reenter(uint256 client, uint256 which) external later(1) {
        if (requests.length == 0) return;
        Commitment memory commitment = _pick(which);
        Order memory order;
        (order.budgetId, order.timeout) = (commitment.budgetId, 1800);
        bytes[] memory calls = new bytes[](6);
        calls[0] = abi.encodeCall(IAgentOracle.request, (order));
        calls[1] = abi.encodeCall(IAgentOracle.release, (commitment.budgetId));
        calls[2] = abi.encodeCall(IAgentOracle.withdraw, (payable(address(this))));
        calls[3] = abi.encodeCall(IAgentOracle.expire, (commitment));
        calls[4] = _signed(commitment, false, "reentered", keys[0]);
        calls[5] = abi.encodeCall(IAgentOracle.retry, (commitment.requestId));
        clients[client % 2].reenterWith(calls);
    }

    function passTime(uint256 seconds_) external later(seconds_ % 2500) {}

    // ---- The end

    /// @notice Ends all requests, budgets and subscriptions and takes all wei out; clients and handlers misbehave as before.
    function endAll() external later(365 days) {
        bytes[] memory nothing = new bytes[](0);
        for (uint256 i = 0; i < 2; i++) clients[i].reenterWith(nothing);
        for (uint64 i = 1; i <= oracle.subscriptionCount(); i++) {
            (address owner,) = oracle.subscriptions(i);
            if (owner != address(0)) oracle.cancel(i);
        }
        for (uint256 i = 0; i < requests.length; i++) {
            if (oracle.commitmentOf(requests[i].requestId) != 0) oracle.expire(requests[i]);
        }
        for (uint256 i = 1; i <= oracle.budgetCount(); i++) {
            (,,, bool released,,,,) = oracle.budgets(i);
            if (!released) oracle.release(i);
        }
        for (uint256 i = 0; i < holders.length; i++) {
            if (oracle.claimable(holders[i]) > 0) require(_withdraw(holders[i]), "no withdrawal");
        }
        _count("sequence", 0);
    }

    /// @notice Returns all that the oracle owes.
    function owed() external view returns (uint256) {
        (uint256[] memory requestIds, uint256[] memory fees) =
            (new uint256[](requests.length), new uint256[](requests.length));
        for (uint256 i = 0; i < requests.length; i++) {
            (requestIds[i], fees[i]) = (requests[i].requestId, requests[i].fee);
        }
        (uint256 claimable, uint256 inBudgets, uint256 inSubscriptions, uint256 inRequests) =
            accounts.owed(oracle, holders, requestIds, fees);
        return claimable + inBudgets + inSubscriptions + inRequests;
    }

    receive() external payable {}

    // ---- Private

    function _count(bytes32 name, uint256 value) private {
        succeeded[name]++;
        paidIn += value;
    }

    function _try(address to, bytes memory data, uint256 value) private returns (bool success) {
        (success,) = to.call{value: value}(data);
    }

    function _byClient(uint256 client, bytes memory data, uint256 value) private returns (bool) {
        return _try(address(clients[client % 2]), abi.encodeCall(OracleClient.callOracle, (data)), value);
    }

    function _withdraw(address holder) private returns (bool success) {
        uint256 before = address(oracle).balance;
        bytes memory data = abi.encodeCall(IAgentOracle.withdraw, (payable(address(0xEE))));
        if (holder == address(handler)) {
            success = _try(holder, abi.encodeCall(ResultHandler.call, (address(oracle), data)), 0);
        } else if (holder.code.length > 0 && holder != address(this)) {
            success = _try(holder, abi.encodeCall(OracleClient.callOracle, (data)), 0);
        } else {
            VM.prank(holder);
            (success,) = address(oracle).call(data);
        }
        takenOut += before - address(oracle).balance;
    }

    /// @dev Three of four times the latest request that waits.
    function _pick(uint256 which) private view returns (Commitment memory) {
        for (uint256 i = requests.length; which % 4 != 0 && i > 0; i--) {
            if (oracle.commitmentOf(requests[i - 1].requestId) != 0) return requests[i - 1];
        }
        return requests[which / 4 % requests.length];
    }

    function _iteration(uint256 kind) private view returns (bytes memory) {
        if (kind % 5 == 4) return abi.encode(kind);
        AgentIterationResult memory result;
        result.isFinalAnswer = kind % 5 > 2;
        result.finalAnswer = "done";
        if (kind % 5 == 0) result.tool = greedyTool;
        else result.tool = tool;
        result.agentReasoning = "use it";
        return abi.encode(result);
    }

    function _signed(Commitment memory commitment, bool refused, bytes memory output, uint256 key)
        private
        view
        returns (bytes memory)
    {
        Evidence memory evidence;
        evidence.blockHash = blockhash(commitment.blockNumber);
        evidence.outputHash = keccak256(output);
        bytes32 digest = oracle.digestOf(commitment.requestId, commitment.argumentsHash, refused, evidence);
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(key, digest);
        return abi.encodeCall(
            IAgentOracle.answer, (commitment, Answer(refused, output), evidence, abi.encodePacked(r, s, v))
        );
    }

    /// @dev The logs have requests of calls that reverted too. The next request of the same client has the same ID.
    function _keepRequests() private {
        Vm.Log[] memory logs = VM.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; i++) {
            if (logs[i].emitter != address(oracle) || logs[i].topics[0] != IAgentOracle.AgentRequested.selector) continue;
            (Commitment memory commitment,) = abi.decode(logs[i].data, (Commitment, bytes));
            uint256 place = placeOf[commitment.requestId];
            if (place == 0) {
                requests.push(commitment);
                placeOf[commitment.requestId] = requests.length;
            } else {
                requests[place - 1] = commitment;
            }
        }
    }
}

/// @title No wei is created, lost or stuck
contract OracleAccountsTest {
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

    function invariant_BalanceIsWhatIsOwed() external view {
        uint256 balance = address(actors.oracle()).balance;
        require(balance == actors.owed(), "the balance is not what is owed");
        require(balance == actors.paidIn() - actors.takenOut(), "the balance is not what was paid in");
    }

    /// @notice Runs at the end of each sequence.
    function afterInvariant() external {
        actors.endAll();
        require(actors.owed() == 0, "wei are still owed");
        require(address(actors.oracle()).balance == 0, "wei are stuck");
        require(actors.takenOut() == actors.paidIn(), "not all came out");
    }
}
