// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IIdentityRegistry} from "../runs/registries/IIdentityRegistry.sol";
import {IReputationRegistry} from "../runs/registries/IReputationRegistry.sol";
import {ICouncil, Outcome} from "./ICouncil.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncilReputation} from "./ICouncilReputation.sol";

/// @title Reputation of a council's agents in the registries of ERC-8004
/// @notice An account links the identity that it owns, or is the wallet of. Its score is the mean of the feedback tagged
///   `council` by clients that were named at deployment, and by this contract, which writes what became of each
///   participant: 100 for right answers and upheld judges, 0 for the others. Outcomes count in requests of those clients
///   alone, as nobody else's question is worth a score: who asks itself and answers itself earns none. Nobody else's
///   feedback counts.
contract CouncilReputation is ICouncilReputation {
    /// @notice The account is neither owner nor wallet of the identity.
    error NotAgent(uint256 agentId, address account);

    /// @notice The oracle was set, or the caller did not deploy this contract.
    error OracleNotSettable(address caller);

    /// @notice The caller is not the oracle.
    error NotOracle(address caller);

    /// @notice The identity takes part in this request with another account.
    error IdentityTaken(uint256 requestId, uint256 agentId, address account);

    /// @notice The request has not ended, the account took no part with an identity, or was reported.
    error NothingToReport(uint256 requestId, address account);

    /// @notice An account stands for an identity.
    event AgentLinked(uint256 indexed agentId, address account);

    /// @notice An outcome was written to the registry.
    event OutcomeReported(uint256 indexed requestId, address account, uint256 agentId, Outcome outcome);

    /// @dev Scores in hundredths for each further unit of weight: the best score, 10,000, weighs 11.
    int256 private constant SCORE_OF_WEIGHT = 1_000;
    string private constant TAG = "council";

    IIdentityRegistry public immutable identities;
    IReputationRegistry public immutable feedback;
    address private immutable deployer;

    /// @notice The oracle whose outcomes are written.
    ICouncil public oracle;

    /// @notice Returns the account of an identity.
    mapping(uint256 agentId => address) public accountOf;

    mapping(uint256 requestId => mapping(address account => bool)) public isReported;

    /// @notice Returns the account with which an identity takes part in a request.
    mapping(uint256 requestId => mapping(uint256 agentId => address)) public accountIn;

    /// @dev Outcomes that were reported of an identity. They are counted here, as reading them from the registry would cost
    ///   more with each request, and in the end more than a transaction has.
    struct Tally {
        uint128 good;
        uint128 count;
    }

    mapping(uint256 agentId => Tally) private tallyOf;
    mapping(uint256 requestId => mapping(address account => uint256)) private entryOf; // the identity's ID and one
    address[] private clients;

    /// @notice Whether feedback of this account and outcomes of its requests count.
    mapping(address account => bool) public isClient;

    mapping(address account => uint256) private linkOf; // the identity's ID and one

    /// @param clients_ whose feedback counts, and whose requests do. Without any, nobody has a score
    constructor(IIdentityRegistry identities_, IReputationRegistry feedback_, address[] memory clients_) {
        (identities, feedback, deployer) = (identities_, feedback_, msg.sender);
        clients = clients_;
        for (uint256 i = 0; i < clients_.length; i++) isClient[clients_[i]] = true;
    }

    /// @notice Sets the oracle, once. For the deployer: the oracle's constructor takes this contract.
    function setOracle(ICouncil oracle_) external {
        if (msg.sender != deployer || address(oracle) != address(0)) revert OracleNotSettable(msg.sender);
        oracle = oracle_;
    }

    /// @notice Lets the caller stand for an identity; the account before no longer does.
    function link(uint256 agentId) external {
        if (!_isOf(agentId, msg.sender)) revert NotAgent(agentId, msg.sender);
        delete linkOf[accountOf[agentId]];
        uint256 before = linkOf[msg.sender];
        if (before != 0) delete accountOf[before - 1];
        (accountOf[agentId], linkOf[msg.sender]) = (msg.sender, agentId + 1);
        emit AgentLinked(agentId, msg.sender);
    }

    /// @inheritdoc ICouncilReputation
    function enter(uint256 requestId, address account) external {
        if (msg.sender != address(oracle)) revert NotOracle(msg.sender);
        (bool isLinked, uint256 agentId) = agentOf(account);
        if (!isLinked) return;
        address before = accountIn[requestId][agentId];
        if (before != address(0) && before != account) revert IdentityTaken(requestId, agentId, before);
        (accountIn[requestId][agentId], entryOf[requestId][account]) = (account, agentId + 1);
    }

    /// @notice Writes what became of a participant, of the identity with which it took part. For everybody, once for each
    ///   request and account. It counts for the score if a client asked.
    /// @dev The registry refuses feedback of an identity's operators, which its owner names. It counts here all the same.
    function report(uint256 requestId, address account) external {
        Outcome outcome = oracle.outcomeOf(requestId, account);
        uint256 entry = entryOf[requestId][account];
        if (outcome == Outcome.None || entry == 0 || isReported[requestId][account]) {
            revert NothingToReport(requestId, account);
        }
        isReported[requestId][account] = true;
        uint256 agentId = entry - 1;
        bool isGood = outcome == Outcome.Right || outcome == Outcome.JudgeUpheld;
        if (_counts(requestId)) {
            Tally storage tally = tallyOf[agentId];
            tally.count++;
            if (isGood) tally.good++;
        }
        bool isJudge = outcome >= Outcome.JudgeUpheld;
        emit OutcomeReported(requestId, account, agentId, outcome);
        if (identities.isAuthorizedOrOwner(address(this), agentId)) return;
        bytes32 hash = keccak256(abi.encode(block.chainid, oracle, requestId, account));
        feedback.giveFeedback(agentId, isGood ? int128(100) : int128(0), 0, TAG, isJudge ? "judge" : "info", "", "", hash);
    }

    /// @notice Returns the identity of an account that still belongs to it.
    function agentOf(address account) public view returns (bool isLinked, uint256 agentId) {
        uint256 linked = linkOf[account];
        if (linked == 0 || !_isOf(linked - 1, account)) return (false, 0);
        return (true, linked - 1);
    }

    /// @inheritdoc ICouncilReputation
    function scoreOf(address account) public view returns (int256) {
        (bool isLinked, uint256 agentId) = agentOf(account);
        if (!isLinked) return 0;
        Tally storage tally = tallyOf[agentId];
        (uint64 count, int128 value, uint8 decimals) = (0, 0, 0);
        if (clients.length > 0) (count, value, decimals) = feedback.getSummary(agentId, clients, TAG, "");
        if (count + tally.count == 0) return 0;
        int256 ofClients = int256(value) * 100 * int256(uint256(count)) / int256(10 ** uint256(decimals));
        return (ofClients + int256(10_000 * uint256(tally.good))) / int256(uint256(count) + tally.count);
    }

    /// @inheritdoc ICouncilReputation
    function weightOf(address account) external view returns (uint32) {
        int256 score = scoreOf(account);
        if (score < 0) return 1;
        return uint32(uint256(score > 10_000 ? int256(10_000) : score) / uint256(SCORE_OF_WEIGHT)) + 1;
    }

    /// @inheritdoc ICouncilReputation
    /// @dev An identity declares them as `abi.encode(string[] capabilities, string[] domains)` under the key `council`.
    function isCapable(address account, IAgentCouncilOracle.AgentCapabilities calldata required)
        external
        view
        returns (bool)
    {
        (bool isLinked, uint256 agentId) = agentOf(account);
        if (!isLinked) return false;
        bytes memory declared = identities.getMetadata(agentId, TAG);
        if (declared.length == 0) return false;
        (string[] memory capabilities, string[] memory domains) = abi.decode(declared, (string[], string[]));
        return _hasAll(capabilities, required.capabilities) && _hasAll(domains, required.domains);
    }

    function _counts(uint256 requestId) internal view virtual returns (bool) {
        return isClient[IAgentCouncilOracle(address(oracle)).getRequest(requestId).requester];
    }

    function _isOf(uint256 agentId, address account) private view returns (bool) {
        return identities.getAgentWallet(agentId) == account || identities.ownerOf(agentId) == account;
    }

    function _hasAll(string[] memory declared, string[] calldata required) private pure returns (bool) {
        for (uint256 i = 0; i < required.length; i++) {
            bool isFound = false;
            for (uint256 j = 0; j < declared.length && !isFound; j++) {
                isFound = keccak256(bytes(declared[j])) == keccak256(bytes(required[i]));
            }
            if (!isFound) return false;
        }
        return true;
    }
}
