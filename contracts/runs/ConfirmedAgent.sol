// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IERCAgent} from "../IERCAgent.sol";
import {IAgentAccount} from "../interfaces/IAgentAccount.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {SignatureProof} from "./SignatureProof.sol";
import {WriteDigest} from "./WriteDigest.sol";

/// @title An agent whose writes somebody confirms before it makes them
/// @notice For agents that act without a treasury and without a lifecycle. The agent holds its own assets, and its tools
///   act through `execute`.
///   1. `eth_call` of `rehearse(prompt)` reverts with `Rehearsed`: the answer, the writes and their digest.
///   2. The confirmer signs the digest for the prompt.
///   3. `runConfirmed` runs the agent. If its writes have another digest, the transaction reverts.
/// @dev The run is one transaction, so the digest is compared once, at its end. Subclass it to name the confirmer, and to
///   let small writes go without a confirmation.
abstract contract ConfirmedAgent is IERCAgent, IAgentAccount, EIP712 {
    struct Confirmation {
        bytes32 digest;
        uint64 expiry;
        bool isGiven;
    }

    /// @notice The writes of a run so far.
    /// @param value wei that went with them
    struct Writes {
        bytes32 digest;
        uint256 count;
        uint256 value;
    }

    event Confirmed(bytes32 indexed promptHash, bytes32 digest, uint256 nonce, uint64 expiry);

    event WriteExecuted(address indexed tool, address indexed target, uint256 value, bytes32 writeHash);

    /// @notice What a run would do. Thrown by `rehearse`, which undoes it.
    error Rehearsed(string answer, Writes writes);

    /// @notice The run writes, and nobody confirmed that.
    error ConfirmationRequired(bytes32 promptHash);

    /// @notice The confirmation is too old.
    error ConfirmationExpired(uint256 expiry);

    /// @notice The signature is not the confirmer's.
    error InvalidConfirmation(address confirmer);

    /// @notice The run's writes are others than the confirmed ones. All of them are undone.
    error DigestMismatch(bytes32 confirmed, bytes32 done);

    /// @notice The caller is none of the agent's tools, or no run is in progress.
    error NotTool(address caller);

    /// @notice A run is in progress.
    error AlreadyRunning();

    /// @notice A tool may not call the agent, or an address without code.
    error ForbiddenTarget(address target);

    /// @notice The data of a call begin with a selector: four bytes at least.
    error SelectorMissing(address target);

    /// @notice The call reverted.
    error CallFailed(address target, bytes reason);

    bytes32 private constant DRY_RUN_TYPE_HASH =
        keccak256("DryRun(bytes32 promptHash,bytes32 digest,uint256 nonce,uint64 expiry)");

    /// @notice The nonce of the next confirmation.
    uint256 public nextNonce;

    /// @notice The confirmation that the next run of a prompt uses, by the prompt's Keccak-256.
    mapping(bytes32 promptHash => Confirmation) public confirmationOf;

    bool private isRunning;
    Writes private writes;

    constructor() EIP712("ConfirmedAgent", "1") {}

    /// @notice Takes wei.
    receive() external payable {}

    /// @notice Runs the agent. A run that writes uses the confirmation of its prompt.
    /// @inheritdoc IERCAgent
    function run(IERCAgentTool.Input memory input, address)
        external
        override
        returns (int256 runId, string memory result)
    {
        return (-1, _runConfirmed(_promptOf(input)));
    }

    /// @notice Confirms a run and runs it. By anybody with the confirmer's signature.
    /// @param signature the confirmer's of `hashDryRun`, ECDSA or ERC-1271
    function runConfirmed(string memory prompt, bytes32 digest, uint64 expiry, bytes calldata signature)
        external
        returns (string memory answer)
    {
        confirm(keccak256(bytes(prompt)), digest, expiry, signature);
        return _runConfirmed(prompt);
    }

    /// @notice Runs the agent, and undoes it by reverting with `Rehearsed`.
    function rehearse(string memory prompt) external {
        string memory answer = _runOnce(prompt);
        revert Rehearsed(answer, writes);
    }

    /// @notice Keeps a confirmation for the next run of a prompt, in place of an earlier one.
    function confirm(bytes32 promptHash, bytes32 digest, uint64 expiry, bytes calldata signature) public {
        if (expiry < block.timestamp) revert ConfirmationExpired(expiry);
        uint256 nonce = nextNonce++;
        address confirmer = _confirmer();
        bool isSigned = SignatureProof.isSigned(confirmer, hashDryRun(promptHash, digest, nonce, expiry), signature);
        if (!isSigned) revert InvalidConfirmation(confirmer);
        confirmationOf[promptHash] = Confirmation(digest, expiry, true);
        emit Confirmed(promptHash, digest, nonce, expiry);
    }

    /// @notice Calls a contract as the agent. For the agent's tools, in a run.
    /// @inheritdoc IAgentAccount
    function execute(address target, uint256 value, bytes calldata data) external returns (bytes memory output) {
        if (!isRunning || !_isTool(msg.sender)) revert NotTool(msg.sender);
        if (target == address(this) || target.code.length == 0) revert ForbiddenTarget(target);
        if (data.length < 4) revert SelectorMissing(target);
        bytes32 writeHash = WriteDigest.hashWrite(bytes32(uint256(uint160(msg.sender))), target, value, data);
        Writes memory before = writes;
        writes = Writes(WriteDigest.append(before.digest, writeHash), before.count + 1, before.value + value);
        emit WriteExecuted(msg.sender, target, value, writeHash);
        bool success;
        (success, output) = target.call{value: value}(data);
        if (!success) revert CallFailed(target, output);
    }

    /// @inheritdoc IAgentAccount
    function agent() external view returns (address) {
        return address(this);
    }

    /// @notice Returns what the confirmer signs by EIP-712:
    ///   `DryRun(bytes32 promptHash,bytes32 digest,uint256 nonce,uint64 expiry)`.
    function hashDryRun(bytes32 promptHash, bytes32 digest, uint256 nonce, uint64 expiry)
        public
        view
        returns (bytes32)
    {
        return _hashTypedDataV4(keccak256(abi.encode(DRY_RUN_TYPE_HASH, promptHash, digest, nonce, expiry)));
    }

    /// @dev Who confirms.
    function _confirmer() internal view virtual returns (address);

    /// @dev Whether writes need no confirmation. A subclass that lets writes go guards who may run it.
    function _isFree(Writes memory done) internal view virtual returns (bool) {
        return done.count == 0;
    }

    function _runConfirmed(string memory prompt) private returns (string memory answer) {
        bytes32 promptHash = keccak256(bytes(prompt));
        Confirmation memory confirmation = confirmationOf[promptHash];
        delete confirmationOf[promptHash];
        answer = _runOnce(prompt);
        Writes memory done = writes;
        delete writes;
        bool isExpired = confirmation.expiry < block.timestamp;
        if (isExpired && _isFree(done)) return answer; // or none was given
        if (!confirmation.isGiven) revert ConfirmationRequired(promptHash);
        if (isExpired) revert ConfirmationExpired(confirmation.expiry);
        if (done.digest != confirmation.digest) revert DigestMismatch(confirmation.digest, done.digest);
    }

    /// @dev Runs the agent and counts its writes.
    function _runOnce(string memory prompt) private returns (string memory answer) {
        if (isRunning) revert AlreadyRunning();
        isRunning = true;
        answer = _runOrRevert(prompt);
        isRunning = false;
    }

    function _isTool(address caller) private view returns (bool) {
        for (uint256 i = 0; i < tools.length; i++) if (address(tools[i]) == caller) return true;
        return false;
    }
}
