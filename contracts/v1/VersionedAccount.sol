// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IERCAgentClient} from "../interfaces/IERCAgentClient.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {Pool} from "../interfaces/Pool.sol";
import {RunOutcome} from "../libraries/RunOutcome.sol";
import {TokenCall} from "../libraries/TokenCall.sol";
import {AgentVersions} from "./AgentVersions.sol";
import {IERCAgentClientV1} from "./interfaces/IERCAgentClientV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";

/// @title A wallet whose agent can be exchanged: it holds the funds and the permissions, the agent holds nothing
/// @notice The agent is the version of `AgentVersions` that the owner chose. A run ends on the version that started it:
///   that version may use the tools until its last open run has ended, the next one at once.
///   Its tools use the ERC's `Pool` interface, as those of WalletAccount do, in base units.
/// @dev An agent may be of either version of the ERC, and run synchronously or by callback. It must run for this account
///   alone, or strangers use the tools through it. A tool is an AccountTool, for version-1 agents an AccountToolV1.
contract VersionedAccount is Pool, IERCAgentClient, IERCAgentClientV1, ERC165, Ownable2Step, ReentrancyGuardTransient {
    using TokenCall for address;

    /// @notice Somebody else than a registered tool used a tool's door.
    error NotTool(address caller);

    /// @notice The owner hasn't allowed this caller to run the agent.
    error CallerNotAllowed(address caller);

    /// @notice Only a version with an open run hands in a result, and only for its own run.
    error UnexpectedResult(address agent, int256 runId);

    /// @notice A run has begun.
    event RunStarted(address indexed agent, int256 indexed runId, address indexed caller);

    /// @notice A run has ended with this result.
    event RunEnded(address indexed agent, int256 indexed runId, string result);

    /// @notice Another version is the wallet's agent.
    event AgentExchanged(uint256 indexed version, address indexed agent);

    /// @notice A tool was registered or removed.
    event ToolSet(address indexed tool, bool isTool);

    /// @notice A caller was allowed or forbidden.
    event CallerSet(address indexed caller, bool allowed);

    /// @notice The versions of the agent.
    AgentVersions public immutable versions;

    /// @notice The pool into which deposits go.
    Pool public immutable pool;

    /// @notice The agent of the chosen version.
    address public agent;

    /// @notice Runs of an agent that have not ended.
    mapping(address agent => uint256) public openRuns;

    /// @notice The tools that may use this account.
    mapping(address tool => bool) public isTool;

    mapping(address caller => bool) private allowed;

    /// @dev To abandon an agent's open runs is to begin its next generation.
    mapping(address agent => uint256) private generationOf;

    /// @dev The generation of a run that has not ended, and one; zero for others.
    mapping(address agent => mapping(int256 runId => uint256)) private openIn;

    /// @dev The agent whose `run` is under way, and whether its result came before it returned.
    address private starting;
    bool private hasEarlyResult;
    int256 private earlyId;

    modifier onlyTool() {
        if (!isTool[msg.sender]) revert NotTool(msg.sender);
        _;
    }

    constructor(address initialOwner, AgentVersions _versions, Pool _pool) Ownable(initialOwner) {
        versions = _versions;
        pool = _pool;
    }

    // ---- Versions

    /// @notice Adopts a version of the agent. For the owner.
    function adopt(uint256 version) external onlyOwner {
        _exchange(version, versions.adopt(version));
    }

    /// @notice Goes back to the version before. For the owner.
    function goBack() external onlyOwner {
        (uint256 version, address previous) = versions.goBack();
        _exchange(version, previous);
    }

    /// @notice Tells whether an agent may use the tools: the chosen one, and each that has an open run.
    function isActive(address candidate) external view returns (bool) {
        return candidate != address(0) && (candidate == agent || openRuns[candidate] != 0);
    }

    function _exchange(uint256 version, address next) private {
        agent = next;
        emit AgentExchanged(version, next);
    }

    // ---- Runs

    /// @notice Gives the agent an instruction. For the owner and the callers whom the owner allowed.
    /// @dev A synchronous run that is not done reverts with `RunOutcome.NotDone`.
    /// @return runId -1 after a synchronous run, of either version; else `RunEnded` has the result later
    /// @return answer the answer of a synchronous run
    function instruct(string calldata prompt) external nonReentrant returns (int256 runId, string memory answer) {
        if (!isCaller(msg.sender)) revert CallerNotAllowed(msg.sender);
        versions.versionOf(address(this)); // reverts if the agent is not what was published
        address current = agent;
        (starting, hasEarlyResult) = (current, false);
        uint256 generation = generationOf[current];
        openRuns[current]++;
        (runId, answer) = _run(current, prompt);
        starting = address(0);
        emit RunStarted(current, runId, msg.sender);
        bool hasEnded = runId == -1 || (hasEarlyResult && earlyId == runId);
        if (!hasEnded) openIn[current][runId] = generation + 1;
        else if (generation == generationOf[current]) openRuns[current]--;
        if (runId != -1) return (runId, answer);
        RunOutcome.requireDone(answer);
        emit RunEnded(current, runId, answer);
    }

    /// @inheritdoc IERCAgentClient
    function handleAgentResult(int256 runId, string memory result) external {
        _end(runId, result);
    }

    /// @inheritdoc IERCAgentClientV1
    function handleAgentResult(uint256 runId, string memory result) external {
        _end(int256(runId), result);
    }

    /// @notice Tells which interfaces this account has.
    function supportsInterface(bytes4 interfaceId) public view override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentClient).interfaceId || interfaceId == type(IERCAgentClientV1).interfaceId
            || super.supportsInterface(interfaceId);
    }

    function _end(int256 runId, string memory result) private {
        uint256 opened = openIn[msg.sender][runId];
        if (opened != 0) {
            delete openIn[msg.sender][runId];
            if (opened == generationOf[msg.sender] + 1) openRuns[msg.sender]--; // else it was abandoned
        } else {
            if (msg.sender != starting || hasEarlyResult) revert UnexpectedResult(msg.sender, runId);
            (hasEarlyResult, earlyId) = (true, runId);
        }
        emit RunEnded(msg.sender, runId, result);
    }

    // ---- For the tools, in base units

    /// @notice Moves tokens from this account into the pool.
    function deploy(address asset, uint256 amount) external onlyTool {
        asset.approve(address(pool), amount);
        pool.deploy(asset, amount);
    }

    /// @notice Moves tokens from the pool back to this account.
    function withdraw(address asset, uint256 amount) external onlyTool {
        pool.withdraw(asset, amount);
    }

    /// @notice Returns what this account has in the pool.
    function balance(address asset) external onlyTool returns (uint256) {
        return pool.balance(asset);
    }

    // ---- For the owner

    /// @notice Registers a tool, or removes it.
    function setTool(address tool, bool isAllowed) external onlyOwner {
        isTool[tool] = isAllowed;
        emit ToolSet(tool, isAllowed);
    }

    /// @notice Allows a caller to run the agent, of whichever version, or forbids it.
    function setCaller(address caller, bool isAllowed) external onlyOwner {
        allowed[caller] = isAllowed;
        emit CallerSet(caller, isAllowed);
    }

    /// @notice Stops a version at once, with its open runs: it may use no tool any more unless it is the chosen one. Their
    ///   results still come, and end no later run.
    function abandonRuns(address retired) external onlyOwner {
        openRuns[retired] = 0;
        generationOf[retired]++;
    }

    /// @notice Sends tokens of this account to anybody.
    function transferToken(address asset, address to, uint256 amount) external onlyOwner {
        asset.transfer(to, amount);
    }

    /// @notice Moves tokens from the pool back to this account.
    function ownerWithdraw(address asset, uint256 amount) external onlyOwner {
        pool.withdraw(asset, amount);
    }

    /// @notice Tells whether this address may run the agent. The owner always may.
    function isCaller(address caller) public view returns (bool) {
        return caller == owner() || allowed[caller];
    }

    /// @dev Version-1 agents say so by ERC-165. Their run IDs are kept with the same bits: of a synchronous run, -1.
    function _run(address current, string calldata prompt) private returns (int256 runId, string memory answer) {
        if (ERC165Checker.supportsInterface(current, type(IERCAgentToolV1).interfaceId)) {
            IERCAgentToolV1.Input memory inputV1;
            inputV1.params = new IERCAgentToolV1.ParamValue[](1);
            inputV1.params[0] = IERCAgentToolV1.ParamValue(IERCAgentToolV1.ParamType.STRING, abi.encode(prompt));
            (uint256 runIdV1, string memory result) = IERCAgentToolV1(current).run(inputV1, address(this));
            return (int256(runIdV1), result);
        }
        IERCAgentTool.Input memory input;
        input.params = new IERCAgentTool.ParamValue[](1);
        input.params[0] = IERCAgentTool.ParamValue(IERCAgentTool.ParamType.STRING, abi.encode(prompt));
        input.abiEncodedParams = input.params[0].value;
        return IERCAgentTool(current).run(input, address(this));
    }
}
