// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {DemoToken} from "@pyevm-agents/contracts/examples/tokens/DemoToken.sol";
import {ITreasury} from "@pyevm-agents/contracts/runs/ITreasury.sol";
import {RunTreasury} from "@pyevm-agents/contracts/runs/RunTreasury.sol";
import {RunPeer} from "@pyevm-agents/contracts/test/runs/RunPeer.sol";
import {IERC20 as OwnERC20} from "@pyevm-agents/contracts/interfaces/IERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

interface Vm {
    function deal(address account, uint256 balance) external;
    function warp(uint256 timestamp) external;
}

Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

uint256 constant TASKS = 4;
uint256 constant MAX_STEPS = 4;
uint256 constant MAX_WRITES = 6;
uint256 constant TARGET_CAP = 25;
address constant PAYEE = address(0xBEEF);

/// @title Does at random whatever owners, operators, agents and targets do
/// @notice Every call may be refused. What happened is counted apart from the treasury.
contract Actors {
    struct Planned {
        uint256 kind;
        bytes32 stepId;
        uint256 amount;
    }

    uint256 private constant RUN_SECONDS = 100;

    RunTreasury public immutable treasury;
    DemoToken public immutable token;
    RunPeer public immutable peer;

    bytes32[] public runs;
    mapping(bytes32 runId => uint256) private planOf; // seed of the confirmed writes; 0 for none
    mapping(bytes32 runId => uint256) private madeBy; // writes of a run, skipped ones too
    mapping(bytes32 runId => mapping(bytes32 stepId => uint256)) private numberOf;
    mapping(bytes32 key => uint256) private timesOf;
    mapping(bytes32 taskId => uint256) public writesOf;
    mapping(bytes32 taskId => uint256) public largestBudgetOf;
    mapping(bytes32 taskId => mapping(address asset => uint256)) public leftOf;
    mapping(address asset => uint256) public capOf;
    mapping(bytes32 name => uint256) public succeeded;

    uint256 public paidIn;
    uint256 public tokensIn;
    uint256 public paidOut;
    uint256 public tokensOut;
    bool public isRepeated;
    bool public isReentered;
    bool private isWriting;
    uint256 private time = 1_000_000;

    constructor() {
        treasury = new RunTreasury(address(this), new address[](0));
        token = new DemoToken("Dollar", "USD", 6, 1e30);
        peer = new RunPeer();
        VM.deal(address(this), 1e30);
        treasury.setOperator(address(this), true);
        treasury.setLimits(uint32(MAX_STEPS), uint32(MAX_WRITES), false);
        setCap(false, 10);
        setCap(true, 10);
        for (uint256 i = 0; i < 2; i++) {
            address target = i == 0 ? PAYEE : address(peer);
            treasury.setTargetCap(target, address(0), TARGET_CAP);
            treasury.setTargetCap(target, address(token), TARGET_CAP);
        }
        treasury.setSelector(address(peer), RunPeer.take.selector, true);
        treasury.setSelector(address(peer), RunPeer.pull.selector, true);
        treasury.setSelector(address(peer), RunPeer.fail.selector, true);
        treasury.setSelector(address(peer), RunPeer.giveBack.selector, true);
        treasury.approve(IERC20(address(token)), address(peer), 1e30);
        deposit(1_000);
    }

    // ---- the owner

    function deposit(uint256 amount) public {
        amount %= 1_000;
        (bool success,) = address(treasury).call{value: amount}("");
        require(success);
        token.transfer(address(treasury), amount);
        paidIn += amount;
        tokensIn += amount;
    }

    function withdraw(bool ofToken, uint256 amount) external {
        address asset = ofToken ? address(token) : address(0);
        bytes memory data = abi.encodeCall(RunTreasury.withdraw, (asset, payable(address(0xEE)), amount % 20));
        if (!_try(data)) return;
        if (ofToken) tokensOut += amount % 20;
        else paidOut += amount % 20;
    }

    function setCap(bool ofToken, uint256 cap) public {
        cap = cap % 20 + 20;
        address asset = ofToken ? address(token) : address(0);
        if (cap > capOf[asset]) capOf[asset] = cap;
        treasury.setAsset(asset, cap, cap / 2);
    }

    function setLimits(uint256 manner) external {
        treasury.setLimits(uint32(MAX_STEPS), uint32(MAX_WRITES), manner % 4 == 0);
    }

    function wait_(uint256 seconds_) external {
        time += seconds_ % (RUN_SECONDS / 5);
        VM.warp(time);
    }

    // ---- the operator

    function open(uint256 task, uint256 steps, uint256 writes, uint256 plan) public {
        bytes32 taskId = bytes32(task % TASKS + 1);
        bytes32 runId = keccak256(abi.encode(runs.length));
        ITreasury.Budget memory budget = ITreasury.Budget(
            uint32(steps % (MAX_STEPS + 1) + 1), uint32(writes % (MAX_WRITES + 1) + 1), uint64(time + RUN_SECONDS)
        );
        address self = address(this);
        if (!_try(abi.encodeCall(ITreasury.openRun, (taskId, runId, self, self, budget)))) return;
        runs.push(runId);
        if (budget.maxWrites > largestBudgetOf[taskId]) largestBudgetOf[taskId] = budget.maxWrites;
        succeeded["open"]++;
        if (plan % 3 == 1) _confirm(runId, plan, budget.maxWrites);
    }

    function cancel(uint256 which) external {
        if (which % 3 == 0 && runs.length > 0 && _try(abi.encodeCall(ITreasury.cancelRun, (_pick(which))))) succeeded["cancel"]++;
    }

    /// @dev The list is as long as the budget.
    function _confirm(bytes32 runId, uint256 plan, uint256 length) private {
        bytes32[] memory writes = new bytes32[](length);
        for (uint256 i = 0; i < length; i++) {
            (address target, uint256 value, bytes memory data) = _callOf(_planned(plan, i));
            writes[i] = treasury.hashWrite(_planned(plan, i).stepId, target, value, data);
        }
        uint64 expiry = uint64(time + RUN_SECONDS / 2);
        if (!_try(abi.encodeCall(ITreasury.confirmRun, (runId, writes, bytes32(plan), expiry, "")))) return;
        planOf[runId] = plan;
        succeeded["confirm"]++;
    }

    // ---- the agent

    /// @notice Makes writes: the confirmed ones, at times a lie, and any where none are confirmed. Then tries to close.
    function write(uint256 which, uint256 seed, bool closes) public {
        if (runs.length == 0) return;
        bytes32 runId = _pick(which);
        uint256 plan = planOf[runId];
        for (uint256 i = 0; i < 4; i++) {
            bool isLie = plan == 0 || (seed >> 8) % 16 == i;
            _make(runId, _planned(isLie ? seed : plan, isLie ? i : madeBy[runId]));
        }
        if (closes && plan != 0 && _try(abi.encodeCall(ITreasury.closeRun, (runId)))) succeeded["close"]++;
    }

    /// @notice Opens a run's task again, with its confirmed writes or others, and writes.
    function retry(uint256 which, uint256 plan) external {
        if (runs.length == 0) return;
        bytes32 old = _pick(which);
        plan = planOf[old] == 0 ? plan : planOf[old];
        uint256 task = uint256(treasury.getRun(old).taskId) - 1;
        open(task, MAX_STEPS - 1, MAX_WRITES - 1, plan);
        write(task * 8 + 1, plan, true);
    }

    function close(uint256 which) external {
        if (which % 3 == 0 && runs.length > 0 && _try(abi.encodeCall(ITreasury.closeRun, (_pick(which))))) succeeded["close"]++;
    }

    // ---- the target

    /// @notice Lets the target come back in the next calls, or no longer.
    function arm(bool isArmed) external {
        peer.prepare(isArmed ? address(this) : address(0), abi.encodeCall(this.reenter, ()));
    }

    /// @dev Counts within a write alone: forge also calls this in the target's name.
    function reenter() external {
        if (!isWriting || msg.sender != address(peer)) return;
        bytes32 runId = runs[runs.length - 1];
        isReentered = isReentered || _try(abi.encodeCall(ITreasury.transferNative, (runId, "s", PAYEE, 1)))
            || _try(abi.encodeCall(ITreasury.closeRun, (runId))) || _try(abi.encodeCall(ITreasury.cancelRun, (runId)))
            || _try(abi.encodeCall(RunTreasury.withdraw, (address(0), payable(PAYEE), 1)));
    }

    // ---- writes

    function _planned(uint256 seed, uint256 index) private pure returns (Planned memory) {
        uint256 word = uint256(keccak256(abi.encode(seed % 16, index)));
        uint256 kind = word % 11;
        return Planned(kind < 7 ? kind : kind - 7, bytes32((word >> 8) % 6 + 1), (word >> 16) % 16);
    }

    function _callOf(Planned memory planned)
        private
        view
        returns (address target, uint256 value, bytes memory data)
    {
        uint256 amount = planned.amount;
        if (planned.kind == 0) return (PAYEE, amount, "");
        if (planned.kind == 1) return (address(token), 0, abi.encodeCall(IERC20.transfer, (PAYEE, amount)));
        if (planned.kind == 2) return (address(peer), amount, abi.encodeCall(RunPeer.take, (amount)));
        if (planned.kind == 3) {
            return (address(peer), 0, abi.encodeCall(RunPeer.pull, (OwnERC20(address(token)), amount)));
        }
        if (planned.kind == 4) return (address(peer), 0, abi.encodeCall(RunPeer.fail, (amount)));
        if (planned.kind == 5) return (address(peer), amount, abi.encodeCall(RunPeer.giveBack, ()));
        return (address(peer), amount, "");
    }

    function _make(bytes32 runId, Planned memory planned) private {
        uint256 wei_ = address(treasury).balance;
        uint256 tokens = token.balanceOf(address(treasury));
        isWriting = true;
        (bool success, bytes memory output) = address(treasury).call(_encode(runId, planned));
        isWriting = false;
        if (!success) return;
        madeBy[runId]++;
        bytes32 taskId = treasury.getRun(runId).taskId;
        bytes32 key = keccak256(abi.encode(taskId, planned.stepId, numberOf[runId][planned.stepId]++));
        if (!abi.decode(output, (bool))) {
            succeeded["skip"]++;
            if (timesOf[key] != 1 || address(treasury).balance != wei_) isRepeated = true;
            return;
        }
        if (++timesOf[key] > 1) isRepeated = true;
        writesOf[taskId]++;
        succeeded["write"]++;
        wei_ -= address(treasury).balance;
        tokens -= token.balanceOf(address(treasury));
        leftOf[taskId][address(0)] += wei_;
        leftOf[taskId][address(token)] += tokens;
        paidOut += wei_;
        tokensOut += tokens;
    }

    function _encode(bytes32 runId, Planned memory planned) private view returns (bytes memory) {
        (bytes32 step, uint256 amount) = (planned.stepId, planned.amount);
        if (planned.kind == 0) return abi.encodeCall(ITreasury.transferNative, (runId, step, PAYEE, amount));
        if (planned.kind == 1) {
            return abi.encodeCall(ITreasury.transferERC20, (runId, step, address(token), PAYEE, amount));
        }
        (address target, uint256 value, bytes memory data) = _callOf(planned);
        return abi.encodeCall(ITreasury.executeCall, (runId, step, target, value, data));
    }

    function runCount() external view returns (uint256) {
        return runs.length;
    }

    /// @dev An open run of some task; at times a run that may have ended.
    function _pick(uint256 which) private view returns (bytes32) {
        for (uint256 i = 0; which % 8 > 0 && i < TASKS; i++) {
            bytes32 open_ = treasury.getTask(bytes32((which / 8 + i) % TASKS + 1)).openRun;
            if (open_ != 0) return open_;
        }
        return runs[which / 8 % runs.length];
    }

    function _try(bytes memory data) private returns (bool success) {
        (success,) = address(treasury).call(data);
    }
}

contract RunTreasuryTest {

    Actors private actors;
    RunTreasury private treasury;

    function setUp() external {
        actors = new Actors();
        treasury = actors.treasury();
    }

    /// @notice Tells forge whose functions to call.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(actors);
    }

    function invariant_TheBooksAreRight() external view {
        _requireCaps();
        _requireBudgets();
        _requireSingleWrites();
        _requireBalances();
        _requireConfirmed();
    }

    /// @dev No task spends more than its caps.
    function _requireCaps() private view {
        for (uint256 i = 0; i < 2; i++) {
            address asset = i == 0 ? address(0) : address(actors.token());
            for (uint256 task = 1; task <= TASKS; task++) {
                uint256 spent = treasury.spentOf(bytes32(task), asset);
                require(spent <= actors.capOf(asset), "a task spent more than its cap");
                require(actors.leftOf(bytes32(task), asset) <= spent, "more left than was counted");
                uint256 onPayee = treasury.spentOn(bytes32(task), PAYEE, asset);
                uint256 onPeer = treasury.spentOn(bytes32(task), address(actors.peer()), asset);
                require(onPayee <= TARGET_CAP && onPeer <= TARGET_CAP, "a target got more than its cap");
                require(onPayee + onPeer == spent, "the targets' sums are not the asset's");
            }
        }
    }

    /// @dev No task writes more than its budget.
    function _requireBudgets() private view {
        for (uint256 task = 1; task <= TASKS; task++) {
            ITreasury.Task memory found = treasury.getTask(bytes32(task));
            require(found.writes == actors.writesOf(bytes32(task)), "writes are counted wrongly");
            require(found.writes <= actors.largestBudgetOf(bytes32(task)), "more writes than a budget");
            require(found.writes <= MAX_WRITES && found.steps <= MAX_STEPS, "above the limits");
            require(found.steps <= found.writes, "steps without writes");
        }
    }

    /// @dev No write happens twice, and none inside of another.
    function _requireSingleWrites() private view {
        require(!actors.isRepeated(), "a write happened twice");
        require(!actors.isReentered(), "a target came back in");
    }

    /// @dev The balances are what came in, less what left.
    function _requireBalances() private view {
        require(address(treasury).balance == actors.paidIn() - actors.paidOut(), "wei");
        uint256 tokens = actors.token().balanceOf(address(treasury));
        require(tokens == actors.tokensIn() - actors.tokensOut(), "tokens");
    }

    /// @dev A closed run did what was confirmed.
    function _requireConfirmed() private view {
        uint256 open;
        for (uint256 i = 0; i < actors.runCount(); i++) {
            ITreasury.Run memory run = treasury.getRun(actors.runs(i));
            bool isOther = run.isConfirmed && run.digest != run.confirmedDigest;
            require(run.status != ITreasury.RunStatus.Closed || !isOther, "a closed run did something else");
            if (run.status == ITreasury.RunStatus.Open) open++;
        }
        require(open <= TASKS, "a task has two open runs");
    }
}
