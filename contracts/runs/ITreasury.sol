// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Holds assets that agents spend in runs, within limits that no agent can pass
/// @notice An operator opens a run of a task for an agent. The agent writes: it transfers assets, or calls a target.
///   - Each write has a key: the task, the step, and the number of the write in the step. It happens once. A later run of
///     the same task that makes the same write again skips it; another write in its place is refused.
///   - Steps, writes and amounts are counted over all runs of a task, so a retry gets what is left.
///   - The operator confirms the list of writes that a dry run made. Then the run makes these writes, in this order, all
///     of them, or it can't be closed.
/// @dev IDs are 32 bytes: the Keccak-256 of the text, where the run's or step's ID is a text. Native wei are the asset
///   `address(0)`. A transfer of tokens is the call `transfer(to, amount)` of the token, for write hashes and digests; a
///   transfer of wei is a call without data.
interface ITreasury {
    enum RunStatus {
        None,
        Open,
        Closed,
        Cancelled
    }

    /// @notice What a run may do. All runs of a task share one budget: that of the newest run, less what was used.
    /// @param maxSteps steps with writes
    /// @param maxWrites writes
    /// @param deadline timestamp in seconds after which the run makes no write, and anybody may cancel it
    struct Budget {
        uint32 maxSteps;
        uint32 maxWrites;
        uint64 deadline;
    }

    /// @param digest digest of the writes so far, skipped ones included
    /// @param writes number of the writes so far, skipped ones included
    /// @param isConfirmed whether the operator confirmed a list of writes
    /// @param confirmationExpiry timestamp in seconds after which the confirmed run makes no write
    /// @param confirmedDigest digest of the confirmed writes
    /// @param trace digest of the dry run's trace, as the operator signed it; kept, not checked
    struct Run {
        RunStatus status;
        bytes32 taskId;
        address agent;
        address operator;
        Budget budget;
        bytes32 digest;
        uint32 writes;
        bool isConfirmed;
        uint64 confirmationExpiry;
        bytes32 confirmedDigest;
        bytes32 trace;
    }

    /// @param operator who opened the task's first run; nobody else opens the others
    /// @param openRun the run that is open, or zero
    /// @param steps steps with writes, over all runs
    /// @param writes writes that happened, over all runs
    struct Task {
        address operator;
        bytes32 openRun;
        uint32 steps;
        uint32 writes;
    }

    /// @notice A write that happened.
    /// @param writeHash `hashWrite` of the call; zero if there is no such write
    /// @param resultHash Keccak-256 of the data that the call returned
    struct Write {
        bytes32 writeHash;
        bytes32 resultHash;
    }

    event RunOpened(
        bytes32 indexed taskId, bytes32 indexed runId, address indexed agent, address operator, Budget budget
    );

    event RunConfirmed(bytes32 indexed taskId, bytes32 indexed runId, bytes32 digest, bytes32 trace, uint64 expiry);

    /// @param number number of the write in its step, from 0 on
    event WriteExecuted(
        bytes32 indexed taskId,
        bytes32 indexed runId,
        bytes32 indexed stepId,
        uint256 number,
        address target,
        uint256 value,
        bytes32 writeHash,
        bytes32 resultHash
    );

    /// @notice An earlier run of the task made this write.
    event WriteSkipped(
        bytes32 indexed taskId,
        bytes32 indexed runId,
        bytes32 indexed stepId,
        uint256 number,
        bytes32 writeHash,
        bytes32 resultHash
    );

    /// @notice An amount was counted against the caps of an asset and of a target.
    event Spent(bytes32 indexed taskId, address indexed asset, address indexed target, uint256 amount);

    event RunClosed(bytes32 indexed taskId, bytes32 indexed runId, bytes32 digest, uint256 writes);

    event RunCancelled(bytes32 indexed taskId, bytes32 indexed runId, bytes32 digest, uint256 writes);

    /// @notice The caller is neither the operator nor one of the operator's delegates, or the owner appointed no such
    ///   operator.
    error NotOperator(address caller, address operator);

    /// @notice The caller is not the run's agent.
    error NotAgent(address caller, bytes32 runId);

    /// @notice The caller may not close or cancel the run.
    error NotParty(address caller, bytes32 runId);

    /// @notice The run's ID is taken, or zero.
    error RunExists(bytes32 runId);

    /// @notice The run is not open.
    error RunNotOpen(bytes32 runId, RunStatus status);

    /// @notice The task belongs to another operator.
    error TaskOfAnother(bytes32 taskId, address operator);

    /// @notice The budget is above the owner's limits.
    error BudgetAboveLimit(uint256 maxSteps, uint256 maxWrites);

    /// @notice The deadline is in the past.
    error RunExpired(bytes32 runId, uint256 deadline);

    /// @notice The write would be in one step too many.
    error TooManySteps(bytes32 taskId, uint256 maxSteps);

    /// @notice The write would be one too many.
    error TooManyWrites(bytes32 taskId, uint256 maxWrites);

    /// @notice An earlier run of the task made another write in this place.
    error WriteDiffers(bytes32 key, bytes32 done, bytes32 given);

    /// @notice The confirmed list has another write in this place, or ends before it.
    /// @param number the place in the list, from 0 on
    error WriteNotConfirmed(bytes32 runId, uint256 number, bytes32 confirmed, bytes32 given);

    /// @notice The operator must confirm this run first.
    error ConfirmationRequired(bytes32 runId);

    /// @notice The run has a confirmation, or made writes.
    error AlreadyConfirmed(bytes32 runId);

    /// @notice The confirmation is too old.
    error ConfirmationExpired(bytes32 runId, uint256 expiry);

    /// @notice The signature is not the operator's.
    error InvalidConfirmation(bytes32 runId, address operator);

    /// @notice The run did not make all confirmed writes.
    error DigestMismatch(bytes32 runId, bytes32 confirmed, bytes32 done);

    /// @notice No run calls this target: the treasury, a protected contract, an asset, or the zero address.
    error TargetRefused(address target);

    /// @notice The owner lists no such token.
    error AssetRefused(address asset);

    /// @notice The data of a call are empty, or begin with a selector.
    error SelectorMissing(address target);

    /// @notice The owner did not allow this function of this target.
    error SelectorRefused(address target, bytes4 selector);

    /// @notice The task would spend more of the asset than its cap.
    error AssetCapExceeded(address asset, uint256 spent, uint256 cap);

    /// @notice The task would spend more of the asset on the target than the target's cap.
    error TargetCapExceeded(address target, address asset, uint256 spent, uint256 cap);

    /// @notice The call reverted. Nothing of the write is kept.
    error CallFailed(address target, bytes reason);

    /// @notice Opens a run. For the operator and its delegates. An open run of the same task is cancelled.
    /// @param agent who may write: an orchestrator's key, or an agent's contract
    /// @param operator who confirms: appointed by the owner
    function openRun(bytes32 taskId, bytes32 runId, address agent, address operator, Budget calldata budget) external;

    /// @notice Confirms the writes of a run before its first one. By anybody with the operator's signature.
    /// @param writes hashes of the writes, as `hashWrite` computes them, in order
    /// @param trace digest of the dry run's trace
    /// @param expiry timestamp in seconds
    /// @param signature the operator's of `hashDryRun`, ECDSA or ERC-1271; may be empty if the operator itself calls
    function confirmRun(
        bytes32 runId,
        bytes32[] calldata writes,
        bytes32 trace,
        uint64 expiry,
        bytes calldata signature
    ) external;

    /// @notice Calls an allowed function of a target. For the run's agent.
    /// @param value wei
    /// @return executed false if an earlier run of the task made this write
    /// @return resultHash Keccak-256 of the data that the call returned
    /// @return result the data that the call returned; empty if the write was skipped
    function executeCall(bytes32 runId, bytes32 stepId, address target, uint256 value, bytes calldata data)
        external
        returns (bool executed, bytes32 resultHash, bytes memory result);

    /// @notice Transfers tokens. For the run's agent.
    /// @return executed false if an earlier run of the task made this write
    /// @return resultHash Keccak-256 of no data
    function transferERC20(bytes32 runId, bytes32 stepId, address token, address to, uint256 amount)
        external
        returns (bool executed, bytes32 resultHash);

    /// @notice Transfers wei. For the run's agent. The same write as `executeCall` without data.
    function transferNative(bytes32 runId, bytes32 stepId, address to, uint256 amount)
        external
        returns (bool executed, bytes32 resultHash);

    /// @notice Closes a run. For its agent, its operator and the operator's delegates. Reverts if not all confirmed writes
    ///   were made, which undoes them where they are in the same transaction.
    function closeRun(bytes32 runId) external returns (bytes32 digest);

    /// @notice Ends a run before all its writes were made. For its operator and the operator's delegates; for anybody after
    ///   the deadline.
    function cancelRun(bytes32 runId) external;

    /// @notice Returns a run; its status is `None` if it was never opened.
    function getRun(bytes32 runId) external view returns (Run memory);

    /// @notice Returns the hashes of the writes that the operator confirmed.
    function getConfirmedWrites(bytes32 runId) external view returns (bytes32[] memory);

    /// @notice Returns a task; its operator is zero if it has no run.
    function getTask(bytes32 taskId) external view returns (Task memory);

    /// @notice Returns a write of a task.
    function getWrite(bytes32 taskId, bytes32 stepId, uint256 number) external view returns (Write memory);

    /// @notice Returns what a task spent of an asset.
    function spentOf(bytes32 taskId, address asset) external view returns (uint256);

    /// @notice Returns what a task spent of an asset on a target.
    function spentOn(bytes32 taskId, address target, address asset) external view returns (uint256);

    /// @notice Returns the hash of a write: `keccak256(abi.encode(stepId, target, value, keccak256(data)))`.
    function hashWrite(bytes32 stepId, address target, uint256 value, bytes calldata data)
        external
        pure
        returns (bytes32);

    /// @notice Returns the digest of writes: 0, then for each write `keccak256(abi.encode(digest, writeHash))`.
    function hashWrites(bytes32[] calldata writes) external pure returns (bytes32);

    /// @notice Returns what the operator signs by EIP-712:
    ///   `DryRun(bytes32 taskId,bytes32 runId,bytes32 digest,bytes32 trace,uint64 expiry)`.
    function hashDryRun(bytes32 taskId, bytes32 runId, bytes32 digest, bytes32 trace, uint64 expiry)
        external
        view
        returns (bytes32);
}
