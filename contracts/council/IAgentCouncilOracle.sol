// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title The interface of ERC-8033: councils of agents that answer questions
/// @dev Names, types, indexed arguments and their order are those of the ERC.
interface IAgentCouncilOracle {
    /// @notice What agents must be able to do.
    /// @param capabilities text, vision, audio and the like
    /// @param domains areas of expertise
    struct AgentCapabilities {
        string[] capabilities;
        string[] domains;
    }

    /// @notice A question with its terms.
    /// @param reward base units of `rewardToken`, in all
    /// @param rewardToken zero for the native asset
    /// @param bondAmount wei of each agent's bond
    /// @param numInfoAgents how many info agents can commit
    /// @param deadline in seconds since 1970: the commit phase's last second
    /// @param specifications further instructions; the options of a discrete query
    struct Request {
        address requester;
        uint256 reward;
        address rewardToken;
        uint256 bondAmount;
        uint256 numInfoAgents;
        uint256 deadline;
        string query;
        string specifications;
        AgentCapabilities requiredCapabilities;
    }

    /// @notice A request was created.
    event RequestCreated(
        uint256 indexed requestId,
        address requester,
        string query,
        uint256 reward,
        uint256 numInfoAgents,
        uint256 bondAmount
    );

    /// @notice An info agent committed to an answer.
    event AgentCommitted(uint256 indexed requestId, address agent, bytes32 commitment);

    /// @notice An info agent revealed its answer.
    event AgentRevealed(uint256 indexed requestId, address agent, bytes answer);

    /// @notice A judge was drawn, for the request or for its dispute.
    event JudgeSelected(uint256 indexed requestId, address judge);

    /// @notice The council has an answer. A dispute can still overturn it.
    event ResolutionFinalized(uint256 indexed requestId, bytes finalAnswer);

    /// @notice The reward was shared.
    /// @param amounts base units of the reward token; bonds are not among them
    event RewardsDistributed(uint256 indexed requestId, address[] winners, uint256[] amounts);

    /// @notice The request ended without an answer, and the money went back.
    event ResolutionFailed(uint256 indexed requestId, string reason);

    /// @notice Somebody disputes the answer.
    event DisputeInitiated(uint256 indexed requestId, address disputer, string reason);

    /// @notice The answer can be disputed until then.
    event DisputeWindowOpened(uint256 indexed requestId, uint256 endTimestamp);

    /// @notice The dispute ended.
    event DisputeResolved(uint256 indexed requestId, bool overturned, bytes finalAnswer);

    /// @notice Asks a question.
    /// @dev The native reward is the call's value. Of a token it is the caller's allowance for this contract.
    function createRequest(
        string calldata query,
        uint256 numInfoAgents,
        uint256 bondAmount,
        uint256 deadline,
        address rewardToken,
        string calldata specifications,
        AgentCapabilities calldata requiredCapabilities
    ) external payable returns (uint256 requestId);

    /// @notice Joins a request as an info agent. The call's value is the bond.
    function commit(uint256 requestId, bytes32 commitment) external payable;

    /// @notice Reveals the answer behind a commitment.
    function reveal(uint256 requestId, bytes calldata answer, uint256 nonce) external;

    /// @notice Resolves a request. For its judge.
    /// @param winners the info agents that were right
    function aggregate(
        uint256 requestId,
        bytes calldata finalAnswer,
        address[] calldata winners,
        bytes calldata reasoning
    ) external;

    /// @notice Shares reward and bonds of a resolved request. For everybody.
    function distributeRewards(uint256 requestId) external;

    /// @notice Returns the answer, and whether it can no longer change.
    function getResolution(uint256 requestId) external view returns (bytes memory finalAnswer, bool finalized);

    /// @notice Disputes an answer. For everybody; the call's value is the dispute's bond.
    function initiateDispute(uint256 requestId, string calldata reason) external payable;

    /// @notice Ends a dispute. For its judge. The answer and the winners count if it overturns.
    function resolveDispute(
        uint256 requestId,
        bool overturn,
        bytes calldata newAnswer,
        address[] calldata newWinners
    ) external;

    /// @notice Returns a request.
    function getRequest(uint256 requestId) external view returns (Request memory);

    /// @notice Returns the commitments, in the order in which they came.
    function getCommits(uint256 requestId)
        external
        view
        returns (address[] memory agents, bytes32[] memory commitments);

    /// @notice Returns the revealed answers, in the order of their commitments.
    function getReveals(uint256 requestId) external view returns (address[] memory agents, bytes[] memory answers);
}
