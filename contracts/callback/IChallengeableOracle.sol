// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Commitment, IAgentOracle} from "./IAgentOracle.sol";

/// @notice Where a proposal is.
/// @dev None: the request has no proposal. Open: it waits for a challenge. Challenged: it waits for the arbiter. Upheld:
///   the arbiter found the same answer, and anybody may finalize it.
enum ProposalStatus {
    None,
    Open,
    Challenged,
    Upheld
}

/// @notice An answer that is not final yet.
/// @param proposalId names this answer of this worker; a later proposal for the same request has another
/// @param commitmentHash keccak256 of the request's `Commitment`
/// @param answerHash `hashAnswer(refused, output)`
/// @param worker who signed the answer and has its bond locked
/// @param challengeableUntil in seconds since 1970: the last second in which a challenge is taken
/// @param refused `Answer.refused`
/// @param challenger who challenged it; zero before
/// @param ruleableUntil the last second in which the arbiter's ruling is taken; zero before a challenge
/// @param outputAt where `Answer.output` is kept; zero if it is empty
struct Proposal {
    bytes32 proposalId;
    bytes32 commitmentHash;
    bytes32 answerHash;
    address worker;
    uint64 challengeableUntil;
    ProposalStatus status;
    bool refused;
    address challenger;
    uint64 ruleableUntil;
    address outputAt;
}

/// @title An oracle whose answers wait until nobody has challenged them
/// @notice An answer is first a proposal. `RequestAnswered` is logged for it, with its evidence, and then
///   `AnswerProposed`; `answerOf` has it once it is final. While a request has a proposal, `commitmentOf` is zero for it.
///   A proposal that ends without being final gives the request back: `commitmentOf` has it again.
interface IChallengeableOracle is IAgentOracle {
    /// @notice A worker's answer waits for a challenge; its bond is locked.
    event AnswerProposed(
        uint256 indexed requestId,
        address indexed worker,
        bytes32 proposalId,
        bytes32 answerHash,
        bool refused,
        bytes32 outputHash,
        uint256 challengeableUntil
    );

    /// @notice Somebody locked a bond against a proposal. The arbiter rules until then.
    event AnswerChallenged(
        uint256 indexed requestId, address indexed challenger, bytes32 proposalId, uint256 ruleableUntil
    );

    /// @notice The arbiter ruled.
    /// @param upheld true: the answer is the arbiter's, and the challenger lost its bond. false: the worker lost its own,
    ///   and the request waits for another answer.
    event AnswerRuled(uint256 indexed requestId, bytes32 proposalId, bytes32 answerHash, bool upheld);

    /// @notice The arbiter did not rule in time. Both bonds went back, and the request waits for another answer.
    event AnswerUnruled(uint256 indexed requestId, bytes32 proposalId);

    /// @notice The answer is final; the worker's fee was credited and its bond freed. `CallbackFinished` follows.
    event AnswerFinalized(uint256 indexed requestId, address indexed worker, bytes32 proposalId);

    /// @notice An account's free stake changed by a deposit or a withdrawal.
    event StakeChanged(address indexed account, uint256 freeStake);

    /// @notice The worker has less free stake than a bond. Call `stake`.
    error InsufficientStake(address worker, uint256 freeStake, uint256 needed);

    /// @notice The request has no such proposal: it is final, was rejected, or was another's.
    error UnknownProposal(uint256 requestId, bytes32 proposalId);

    /// @notice The proposal is in another state than this call needs.
    error WrongStatus(uint256 requestId, ProposalStatus status);

    /// @notice The caller is not the arbiter.
    error NotArbiter(address caller);

    /// @notice The worker proposed this answer before, and only the worker itself may propose it again.
    error AlreadyProposed(uint256 requestId, address worker, bytes32 answerHash);

    /// @notice Adds the call's value to the caller's free stake.
    function stake() external payable;

    /// @notice Makes a part of the caller's free stake claimable.
    function unstake(uint256 amount) external;

    /// @notice Makes an answer final and calls the client. For everybody, once the proposal was upheld or can't be
    ///   challenged any more.
    /// @dev Reverts, and changes nothing, unless the callback gets all the gas that its budget promised.
    /// @return delivered whether the client took the answer
    function finalize(Commitment calldata commitment) external returns (bool delivered);

    /// @notice Challenges a proposal. For everybody; the value is the bond.
    function challenge(uint256 requestId, bytes32 proposalId) external payable;

    /// @notice Decides a challenge. For the arbiter. Calls nobody.
    /// @param answerHash `hashAnswer` of what the arbiter computed
    function rule(uint256 requestId, bytes32 proposalId, bytes32 answerHash) external;

    /// @notice Ends a challenge that the arbiter did not decide in time. For everybody.
    function endUnruled(uint256 requestId) external;

    /// @notice Returns a request's proposal; all members are zero if it has none.
    /// @return proposal all but the output
    /// @return output its `Answer.output`
    function proposalOf(uint256 requestId) external view returns (Proposal memory proposal, bytes memory output);

    /// @notice Returns the part of an account's stake that no proposal has locked, in wei.
    function freeStakeOf(address account) external view returns (uint256);

    /// @notice Returns what proposals and rulings are compared by: keccak256 of `abi.encode(refused, output)`.
    function hashAnswer(bool refused, bytes calldata output) external pure returns (bytes32);

    /// @notice Returns what a proposal locks and a challenge costs, in wei.
    function bond() external view returns (uint256);

    /// @notice Returns for how many seconds a proposal can be challenged.
    function challengeWindow() external view returns (uint64);

    /// @notice Returns for how many seconds after a challenge the arbiter can rule.
    function arbitrationTime() external view returns (uint64);

    /// @notice Returns who rules. It never changes.
    function arbiter() external view returns (address);
}
