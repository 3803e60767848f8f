// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ITreasury} from "./ITreasury.sol";
import {SignatureProof} from "./SignatureProof.sol";
import {WriteDigest} from "./WriteDigest.sol";

/// @title Spends its owner's assets in runs of agents, within the owner's policy
/// @notice The owner names operators, assets, targets, functions and caps. Whatever an agent does, a task spends at most
///   the caps, and makes each write once. See `ITreasury` for runs.
/// @dev What a call costs is measured: each asset's balance is read before and after it, and a loss is counted. So a
///   target that pulls tokens by an approval of the owner's is held to the caps as well.
contract RunTreasury is ITreasury, Ownable2Step, Pausable, ReentrancyGuardTransient, EIP712 {
    using SafeERC20 for IERC20;

    /// @notice The owner's rules for an asset.
    /// @param cap the most that a task spends
    /// @param confirmAbove what a task spends above this needs the operator's confirmation
    struct AssetPolicy {
        bool isListed;
        uint256 cap;
        uint256 confirmAbove;
    }

    event OperatorSet(address indexed operator, bool isOperator);
    event DelegateSet(address indexed operator, address indexed delegate, bool isDelegate);
    event LimitsSet(uint256 maxSteps, uint256 maxWrites, bool confirmsAlways);
    event AssetSet(address indexed asset, uint256 cap, uint256 confirmAbove);
    event AssetRemoved(address indexed asset);
    event TargetCapSet(address indexed target, address indexed asset, uint256 cap);
    event SelectorSet(address indexed target, bytes4 indexed selector, bool isAllowed);
    event TargetProtected(address indexed target);

    /// @notice More assets than `MAX_ASSETS`.
    error TooManyAssets();

    /// @notice Each call reads the balances of all assets, so their number bounds its gas.
    uint256 public constant MAX_ASSETS = 8;

    /// @dev Stands for wei.
    address private constant NATIVE = address(0);

    bytes32 private constant DRY_RUN_TYPE_HASH =
        keccak256("DryRun(bytes32 taskId,bytes32 runId,bytes32 digest,bytes32 trace,uint64 expiry)");

    /// @notice The most steps and writes of a run's budget.
    uint32 public maxSteps;
    uint32 public maxWrites;

    /// @notice Whether every write needs the operator's confirmation.
    bool public confirmsAlways;

    /// @notice The listed assets; `address(0)` stands for wei.
    address[] public assets;

    mapping(address asset => AssetPolicy) public policyOf;

    /// @notice The most that a task spends of an asset on a target.
    mapping(address target => mapping(address asset => uint256)) public targetCapOf;

    mapping(address target => mapping(bytes4 selector => bool)) public isAllowed;

    /// @notice Contracts that no run calls, whatever the owner allows, such as registries.
    mapping(address target => bool) public isProtected;

    mapping(address operator => bool) public isOperator;

    /// @notice Whether an address may open, close and cancel runs for an operator. It can't confirm.
    mapping(address operator => mapping(address delegate => bool)) public isDelegate;

    /// @inheritdoc ITreasury
    mapping(bytes32 taskId => mapping(address asset => uint256)) public spentOf;

    /// @inheritdoc ITreasury
    mapping(bytes32 taskId => mapping(address target => mapping(address asset => uint256))) public spentOn;

    mapping(bytes32 runId => Run) private runs;
    mapping(bytes32 runId => bytes32[]) private confirmedWrites;
    mapping(bytes32 runId => mapping(bytes32 stepId => uint256)) private nextNumber;
    mapping(bytes32 taskId => Task) private tasks;
    mapping(bytes32 taskId => mapping(bytes32 stepId => bool)) private isStepOf;
    mapping(bytes32 key => Write) private writes;

    /// @param owner sets the policy
    /// @param protected contracts that no run calls, such as registries
    constructor(address owner, address[] memory protected) Ownable(owner) EIP712("Treasury", "1") {
        for (uint256 i = 0; i < protected.length; i++) _protect(protected[i]);
    }

    /// @notice Takes wei.
    receive() external payable {}

    // -- policy -- //

    /// @notice Appoints an operator, or dismisses it. For the owner.
    function setOperator(address operator, bool is_) external onlyOwner {
        isOperator[operator] = is_;
        emit OperatorSet(operator, is_);
    }

    /// @notice Lets an address open, close and cancel runs of the caller, such as an orchestrator's key.
    function setDelegate(address delegate, bool is_) external {
        isDelegate[msg.sender][delegate] = is_;
        emit DelegateSet(msg.sender, delegate, is_);
    }

    /// @notice Sets the highest budget, and whether every write needs a confirmation. For the owner.
    function setLimits(uint32 maxSteps_, uint32 maxWrites_, bool confirmsAlways_) external onlyOwner {
        (maxSteps, maxWrites, confirmsAlways) = (maxSteps_, maxWrites_, confirmsAlways_);
        emit LimitsSet(maxSteps_, maxWrites_, confirmsAlways_);
    }

    /// @notice Lists an asset, or changes its rules. For the owner.
    function setAsset(address asset, uint256 cap, uint256 confirmAbove) external onlyOwner nonReentrant {
        if (!policyOf[asset].isListed) {
            if (assets.length == MAX_ASSETS) revert TooManyAssets();
            assets.push(asset);
        }
        policyOf[asset] = AssetPolicy(true, cap, confirmAbove);
        emit AssetSet(asset, cap, confirmAbove);
    }

    /// @notice Takes an asset off the list: no run transfers it, and its balance is not watched. For the owner.
    function removeAsset(address asset) external onlyOwner nonReentrant {
        for (uint256 i = 0; i < assets.length; i++) {
            if (assets[i] != asset) continue;
            assets[i] = assets[assets.length - 1];
            assets.pop();
            delete policyOf[asset];
            emit AssetRemoved(asset);
            return;
        }
    }

    /// @notice Sets how much of an asset a task spends on a target: a recipient, or a contract that is called. For the
    ///   owner.
    function setTargetCap(address target, address asset, uint256 cap) external onlyOwner {
        targetCapOf[target][asset] = cap;
        emit TargetCapSet(target, asset, cap);
    }

    /// @notice Allows a function of a target, or no longer. For the owner.
    function setSelector(address target, bytes4 selector, bool is_) external onlyOwner {
        isAllowed[target][selector] = is_;
        emit SelectorSet(target, selector, is_);
    }

    /// @notice Protects a contract from all runs, for ever. For the owner.
    function protect(address target) external onlyOwner {
        _protect(target);
    }

    /// @notice Approves a spender, such as an exchange that runs call. What it pulls in a call counts. For the owner.
    function approve(IERC20 token, address spender, uint256 amount) external onlyOwner nonReentrant {
        if (!policyOf[address(token)].isListed || address(token) == NATIVE) revert AssetRefused(address(token));
        token.forceApprove(spender, amount);
    }

    /// @notice Sends an asset. For the owner.
    function withdraw(address asset, address payable to, uint256 amount) external onlyOwner nonReentrant {
        if (asset == NATIVE) Address.sendValue(to, amount);
        else IERC20(asset).safeTransfer(to, amount);
    }

    /// @notice Stops runs from opening and writing. For the owner.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Allows runs again. For the owner.
    function unpause() external onlyOwner {
        _unpause();
    }

    // -- runs -- //

    /// @inheritdoc ITreasury
    function openRun(bytes32 taskId, bytes32 runId, address agent, address operator, Budget calldata budget)
        external
        whenNotPaused
        nonReentrant
    {
        if (!isOperator[operator] || !_actsFor(operator)) revert NotOperator(msg.sender, operator);
        if (runId == 0 || runs[runId].status != RunStatus.None) revert RunExists(runId);
        if (budget.maxSteps > maxSteps || budget.maxWrites > maxWrites) revert BudgetAboveLimit(maxSteps, maxWrites);
        if (budget.deadline < block.timestamp) revert RunExpired(runId, budget.deadline);
        Task storage task = tasks[taskId];
        if (task.operator == address(0)) task.operator = operator;
        if (task.operator != operator) revert TaskOfAnother(taskId, task.operator);
        if (task.openRun != 0) _cancel(task.openRun);

        task.openRun = runId;
        Run storage run = runs[runId];
        (run.status, run.taskId, run.agent, run.operator) = (RunStatus.Open, taskId, agent, operator);
        run.budget = budget;
        emit RunOpened(taskId, runId, agent, operator, budget);
    }

    /// @inheritdoc ITreasury
    function confirmRun(
        bytes32 runId,
        bytes32[] calldata writes_,
        bytes32 trace,
        uint64 expiry,
        bytes calldata signature
    ) external nonReentrant {
        Run storage run = _requireOpen(runId);
        if (run.isConfirmed || run.writes > 0) revert AlreadyConfirmed(runId);
        if (expiry < block.timestamp) revert ConfirmationExpired(runId, expiry);
        if (writes_.length > run.budget.maxWrites) revert TooManyWrites(run.taskId, run.budget.maxWrites);
        bytes32 digest = WriteDigest.hashWrites(writes_);
        bytes32 signed = hashDryRun(run.taskId, runId, digest, trace, expiry);
        bool isSigned = msg.sender == run.operator || SignatureProof.isSigned(run.operator, signed, signature);
        if (!isSigned) revert InvalidConfirmation(runId, run.operator);

        (run.isConfirmed, run.confirmationExpiry) = (true, expiry);
        (run.confirmedDigest, run.trace) = (digest, trace);
        confirmedWrites[runId] = writes_;
        emit RunConfirmed(run.taskId, runId, digest, trace, expiry);
    }

    /// @inheritdoc ITreasury
    function executeCall(bytes32 runId, bytes32 stepId, address target, uint256 value, bytes calldata data)
        external
        whenNotPaused
        nonReentrant
        returns (bool executed, bytes32 resultHash, bytes memory result)
    {
        bytes32 key;
        (key, executed, resultHash) = _begin(runId, stepId, target, value, data);
        if (!executed) return (false, resultHash, "");
        if (_isRefused(target)) revert TargetRefused(target);
        if (data.length == 0) _charge(runId, target, NATIVE, value);
        else _requireAllowed(runId, target, value, data);
        result = _call(runId, target, value, data);
        resultHash = _end(key, runId, stepId, target, value, result);
    }

    /// @inheritdoc ITreasury
    function transferNative(bytes32 runId, bytes32 stepId, address to, uint256 amount)
        external
        whenNotPaused
        nonReentrant
        returns (bool executed, bytes32 resultHash)
    {
        bytes32 key;
        (key, executed, resultHash) = _begin(runId, stepId, to, amount, "");
        if (!executed) return (false, resultHash);
        if (_isRefused(to)) revert TargetRefused(to);
        _charge(runId, to, NATIVE, amount);
        resultHash = _end(key, runId, stepId, to, amount, _call(runId, to, amount, ""));
    }

    /// @inheritdoc ITreasury
    function transferERC20(bytes32 runId, bytes32 stepId, address token, address to, uint256 amount)
        external
        whenNotPaused
        nonReentrant
        returns (bool executed, bytes32 resultHash)
    {
        bytes32 key;
        (key, executed, resultHash) = _begin(runId, stepId, token, 0, abi.encodeCall(IERC20.transfer, (to, amount)));
        if (!executed) return (false, resultHash);
        if (!policyOf[token].isListed || token == NATIVE) revert AssetRefused(token);
        if (_isRefused(to)) revert TargetRefused(to);
        _charge(runId, to, token, amount);
        uint256 balance = IERC20(token).balanceOf(address(this));
        IERC20(token).safeTransfer(to, amount);
        uint256 lost = Math.saturatingSub(balance, IERC20(token).balanceOf(address(this)));
        if (lost > amount) _charge(runId, to, token, lost - amount);
        resultHash = _end(key, runId, stepId, token, 0, "");
    }

    /// @inheritdoc ITreasury
    function closeRun(bytes32 runId) external nonReentrant returns (bytes32 digest) {
        Run storage run = _requireOpen(runId);
        if (msg.sender != run.agent && !_actsFor(run.operator)) revert NotParty(msg.sender, runId);
        digest = run.digest;
        if (run.isConfirmed && digest != run.confirmedDigest) {
            revert DigestMismatch(runId, run.confirmedDigest, digest);
        }
        run.status = RunStatus.Closed;
        tasks[run.taskId].openRun = 0;
        emit RunClosed(run.taskId, runId, digest, run.writes);
    }

    /// @inheritdoc ITreasury
    function cancelRun(bytes32 runId) external nonReentrant {
        Run storage run = _requireOpen(runId);
        bool isParty = _actsFor(run.operator) || block.timestamp > run.budget.deadline;
        if (!isParty) revert NotParty(msg.sender, runId);
        _cancel(runId);
    }

    // -- views -- //

    /// @inheritdoc ITreasury
    function getRun(bytes32 runId) external view returns (Run memory) {
        return runs[runId];
    }

    /// @inheritdoc ITreasury
    function getConfirmedWrites(bytes32 runId) external view returns (bytes32[] memory) {
        return confirmedWrites[runId];
    }

    /// @inheritdoc ITreasury
    function getTask(bytes32 taskId) external view returns (Task memory) {
        return tasks[taskId];
    }

    /// @inheritdoc ITreasury
    function getWrite(bytes32 taskId, bytes32 stepId, uint256 number) external view returns (Write memory) {
        return writes[_keyOf(taskId, stepId, number)];
    }

    /// @notice Returns the listed assets.
    function getAssets() external view returns (address[] memory) {
        return assets;
    }

    /// @inheritdoc ITreasury
    function hashDryRun(bytes32 taskId, bytes32 runId, bytes32 digest, bytes32 trace, uint64 expiry)
        public
        view
        returns (bytes32)
    {
        return _hashTypedDataV4(keccak256(abi.encode(DRY_RUN_TYPE_HASH, taskId, runId, digest, trace, expiry)));
    }

    /// @inheritdoc ITreasury
    function hashWrite(bytes32 stepId, address target, uint256 value, bytes calldata data)
        external
        pure
        returns (bytes32)
    {
        return WriteDigest.hashWrite(stepId, target, value, data);
    }

    /// @inheritdoc ITreasury
    function hashWrites(bytes32[] calldata writes_) external pure returns (bytes32) {
        return WriteDigest.hashWrites(writes_);
    }

    // -- a write -- //

    /// @dev Counts a write, and takes its key. Everything that decides whether the write happens at all is here.
    /// @return key of the write
    /// @return isNew false if an earlier run of the task made it
    /// @return resultHash of the earlier run's write
    function _begin(bytes32 runId, bytes32 stepId, address target, uint256 value, bytes memory data)
        private
        returns (bytes32 key, bool isNew, bytes32 resultHash)
    {
        bytes32 writeHash = WriteDigest.hashWrite(stepId, target, value, data);
        Run storage run = _requireWritable(runId, writeHash);
        uint256 number = nextNumber[runId][stepId]++;
        key = _keyOf(run.taskId, stepId, number);
        (run.digest, run.writes) = (WriteDigest.append(run.digest, writeHash), run.writes + 1);
        Write storage done = writes[key];
        if (done.writeHash == writeHash) {
            emit WriteSkipped(run.taskId, runId, stepId, number, writeHash, done.resultHash);
            return (key, false, done.resultHash);
        }
        if (done.writeHash != 0) revert WriteDiffers(key, done.writeHash, writeHash);
        if (confirmsAlways && !run.isConfirmed) revert ConfirmationRequired(runId);
        _countWrite(run.taskId, stepId, run.budget);
        done.writeHash = writeHash;
        return (key, true, 0);
    }

    /// @dev Reverts unless the caller may make this write next.
    function _requireWritable(bytes32 runId, bytes32 writeHash) private view returns (Run storage run) {
        run = _requireOpen(runId);
        if (msg.sender != run.agent) revert NotAgent(msg.sender, runId);
        if (block.timestamp > run.budget.deadline) revert RunExpired(runId, run.budget.deadline);
        if (!run.isConfirmed) return run;
        if (block.timestamp > run.confirmationExpiry) revert ConfirmationExpired(runId, run.confirmationExpiry);
        bytes32[] storage confirmed = confirmedWrites[runId];
        bytes32 wanted = run.writes < confirmed.length ? confirmed[run.writes] : bytes32(0);
        if (wanted != writeHash) revert WriteNotConfirmed(runId, run.writes, wanted, writeHash);
    }

    function _countWrite(bytes32 taskId, bytes32 stepId, Budget memory budget) private {
        Task storage task = tasks[taskId];
        if (++task.writes > budget.maxWrites) revert TooManyWrites(taskId, budget.maxWrites);
        if (isStepOf[taskId][stepId]) return;
        isStepOf[taskId][stepId] = true;
        if (++task.steps > budget.maxSteps) revert TooManySteps(taskId, budget.maxSteps);
    }

    function _requireAllowed(bytes32 runId, address target, uint256 value, bytes calldata data) private {
        if (data.length < 4) revert SelectorMissing(target);
        if (!isAllowed[target][bytes4(data)]) revert SelectorRefused(target, bytes4(data));
        if (value > 0) _charge(runId, target, NATIVE, value);
    }

    /// @dev Calls a target, and counts what assets lost by it.
    function _call(bytes32 runId, address target, uint256 value, bytes memory data)
        private
        returns (bytes memory result)
    {
        uint256[] memory balances = new uint256[](assets.length);
        for (uint256 i = 0; i < balances.length; i++) balances[i] = _balanceOf(assets[i]);
        bool success;
        (success, result) = target.call{value: value}(data);
        if (!success) revert CallFailed(target, result);
        for (uint256 i = 0; i < balances.length; i++) {
            uint256 lost = Math.saturatingSub(balances[i], _balanceOf(assets[i]));
            if (lost > 0) _charge(runId, target, assets[i], lost);
        }
    }

    /// @dev Counts an amount against both caps. What is above the threshold needs a confirmation.
    function _charge(bytes32 runId, address target, address asset, uint256 amount) private {
        bytes32 taskId = runs[runId].taskId;
        AssetPolicy storage policy = policyOf[asset];
        uint256 spent = Math.saturatingAdd(spentOf[taskId][asset], amount);
        if (spent > policy.cap) revert AssetCapExceeded(asset, spent, policy.cap);
        if (spent > policy.confirmAbove && !runs[runId].isConfirmed) revert ConfirmationRequired(runId);
        uint256 cap = targetCapOf[target][asset];
        uint256 spentThere = Math.saturatingAdd(spentOn[taskId][target][asset], amount);
        if (cap == 0 || spentThere > cap) revert TargetCapExceeded(target, asset, spentThere, cap);
        spentOf[taskId][asset] = spent;
        spentOn[taskId][target][asset] = spentThere;
        emit Spent(taskId, asset, target, amount);
    }

    /// @dev Keeps the result's hash.
    function _end(bytes32 key, bytes32 runId, bytes32 stepId, address target, uint256 value, bytes memory result)
        private
        returns (bytes32 resultHash)
    {
        resultHash = keccak256(result);
        writes[key].resultHash = resultHash;
        uint256 number = nextNumber[runId][stepId] - 1;
        bytes32 writeHash = writes[key].writeHash;
        emit WriteExecuted(runs[runId].taskId, runId, stepId, number, target, value, writeHash, resultHash);
    }

    // -- parts -- //

    function _requireOpen(bytes32 runId) private view returns (Run storage run) {
        run = runs[runId];
        if (run.status != RunStatus.Open) revert RunNotOpen(runId, run.status);
    }

    function _cancel(bytes32 runId) private {
        Run storage run = runs[runId];
        run.status = RunStatus.Cancelled;
        tasks[run.taskId].openRun = 0;
        emit RunCancelled(run.taskId, runId, run.digest, run.writes);
    }

    function _protect(address target) private {
        isProtected[target] = true;
        emit TargetProtected(target);
    }

    /// @dev Whether the caller is an operator, or its delegate.
    function _actsFor(address operator) private view returns (bool) {
        return msg.sender == operator || isDelegate[operator][msg.sender];
    }

    /// @dev Assets are none of the targets: a call of `transfer` or `approve` would be a way around transfers.
    function _isRefused(address target) private view returns (bool) {
        bool isOwn = target == address(0) || target == address(this);
        return isOwn || isProtected[target] || policyOf[target].isListed;
    }

    /// @dev Wei leave with a call's value alone, which is counted before the call; what comes back is not.
    function _balanceOf(address asset) private view returns (uint256) {
        return asset == NATIVE ? 0 : IERC20(asset).balanceOf(address(this));
    }

    function _keyOf(bytes32 taskId, bytes32 stepId, uint256 number) private pure returns (bytes32) {
        return keccak256(abi.encode(taskId, stepId, number));
    }
}
