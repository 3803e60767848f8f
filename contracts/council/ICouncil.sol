// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @notice Where a request is. A request only goes to later phases.
enum Phase {
    None,
    Commit,
    Reveal,
    Draw,
    Judge,
    Window,
    DisputeRegistration,
    DisputeDraw,
    DisputeJudge,
    Resolved,
    Distributed,
    Failed
}

/// @notice What became of a participant.
enum Outcome {
    None,
    Right,
    Wrong,
    Withheld,
    JudgeUpheld,
    JudgeOverturned,
    JudgeAbsent
}

/// @notice The rules of all requests of an oracle. Times are in seconds, parts in hundredths of a percent.
/// @param revealTime time to reveal, from the commit phase's end on
/// @param drawTime time to draw a judge
/// @param judgeTime time of each judge
/// @param disputeWindow time to dispute an answer; zero for an oracle without disputes. More needs a source of reputation,
///   and `minDisputeJudgeReputation` of 1 at least
/// @param disputeRegistrationTime time in which judges of a dispute register
/// @param callbackGas gas of a callback
/// @param judgeFee the judge's part of the reward
/// @param disputeBond the dispute's bond as a part of an agent's, for example 15,000; never less than what overturning moves
/// @param disputerReimbursement the part of the judge's fee that the disputer of an overturned answer gets
/// @param judgeReimbursement the part of the losing bond (the disputer's, or the first judge's) that the dispute's judges get
/// @param seedDelay blocks between the end of the reveals and the block whose PREVRANDAO is drawn with
/// @param deterministic draws with the nonces alone, at once. For tests: the last to reveal can choose the judge
/// @param weightedVotes whether the votes of a discrete query count by reputation
/// @param proportionalRewards whether rewards are shared by reputation; else equally
/// @param minBond least wei of a request's bond
/// @param minAgentReputation least score of an info agent, in hundredths
/// @param minJudgeReputation least score of a judge, in hundredths
/// @param minDisputeJudgeReputation least score of a dispute's judge, in hundredths
/// @param disputeJudges how many judges decide a dispute: odd, 3 to 15. Not looked at without a window
/// @param plainCommitments whether commitments are the ERC's `keccak256(abi.encode(answer, nonce))`; else they are bound to
///   chain, oracle, request and agent, so that nobody can copy them
struct Terms {
    uint32 revealTime;
    uint32 drawTime;
    uint32 judgeTime;
    uint32 disputeWindow;
    uint32 disputeRegistrationTime;
    uint32 callbackGas;
    uint16 judgeFee;
    uint16 disputeBond;
    uint16 disputerReimbursement;
    uint16 judgeReimbursement;
    uint8 seedDelay;
    bool deterministic;
    bool weightedVotes;
    bool proportionalRewards;
    uint96 minBond;
    int32 minAgentReputation;
    int32 minJudgeReputation;
    int32 minDisputeJudgeReputation;
    uint8 disputeJudges;
    bool plainCommitments;
}

/// @title What ERC-8033 leaves to implementations: judges, timeouts, payments
interface ICouncil {
    /// @notice A judge's candidate registered.
    event JudgeRegistered(uint256 indexed requestId, address judge);

    /// @notice A judge let its time pass. Its bond is forfeited.
    event JudgeAbsent(uint256 indexed requestId, address judge);

    /// @notice A judge's reasons.
    event JudgeReasoned(uint256 indexed requestId, address judge, bytes reasoning);

    /// @notice A judge of a dispute decided. The answer counts if it overturns.
    event DisputeJudged(uint256 indexed requestId, address judge, bool overturn, bytes newAnswer);

    /// @notice The request's shares are sent when they are due; what can't be sent stays claimable.
    event DirectPayment(uint256 indexed requestId);

    /// @notice The requester says how many wei depend on the answer, beside reward and bonds.
    event ValueDeclared(uint256 indexed requestId, uint256 valueWei);

    /// @notice The judge will be drawn with the PREVRANDAO of this block.
    event SeedBlockSet(uint256 indexed requestId, uint256 blockNumber);

    /// @notice An account can withdraw more.
    /// @param token zero for wei
    event Credited(address indexed token, address indexed account, uint256 amount);

    /// @notice An account withdrew.
    event Withdrawn(address indexed token, address indexed account, address to, uint256 amount);

    /// @notice The requester was called.
    /// @param returned the first 132 bytes of what it returned
    event CallbackFinished(uint256 indexed requestId, address target, bool success, bytes returned);

    /// @notice A number is out of its range.
    error OutOfRange(string member, uint256 value, uint256 lowest, uint256 highest);

    /// @notice A text has too many bytes. Store it elsewhere, and send `LongAnswer.encode` of its hash and URI.
    error TooLong(string member, uint256 size, uint256 limit);

    /// @notice A list of required capabilities has too many items.
    error CapListTooLong(uint256 items, uint256 limit);

    /// @notice The line of options can't be read.
    error MalformedOptions(uint256 option);

    /// @notice The call's value is not what it has to be.
    error WrongValue(uint256 value, uint256 expected);

    /// @notice Approve exactly the reward.
    error AllowanceNotExact(address token, uint256 allowance);

    /// @notice The token took a fee. Such tokens are refused.
    error TokenTakesFee(address token, uint256 sent, uint256 received);

    /// @notice The request is in another phase, or its time is over.
    error WrongPhase(uint256 requestId, Phase phase);

    /// @notice No timeout is due.
    error NothingDue(uint256 requestId, Phase phase, uint256 endsAt);

    /// @notice The account already takes part, or may not in this role.
    error NotEligible(uint256 requestId, address account);

    /// @notice The reputation is too low.
    error ReputationTooLow(address account, int256 score, int256 minimum);

    /// @notice The agent lacks what the request requires.
    error NotCapable(address account);

    /// @notice Disputes need a source of reputation, and judges who were right before.
    error DisputesNeedReputation();

    /// @notice An account that was not drawn is what can be released, once no draw can take it.
    error NothingToRelease(uint256 requestId, address account);

    /// @notice The caller is not the requester.
    error NotRequester(uint256 requestId, address caller);

    /// @notice Somebody committed: how shares are paid is known before.
    error CommitmentsMade(uint256 requestId);

    /// @notice The request has this commitment: it was copied.
    error CopiedCommitment(uint256 requestId);

    /// @notice The commitment is zero.
    error EmptyCommitment();

    /// @notice Answer and nonce are not those of the commitment, or the account has revealed, or never committed.
    error WrongReveal(uint256 requestId, address account);

    /// @notice The header is not that of the block.
    error WrongHeader(uint256 blockNumber);

    /// @notice The caller is not the judge, or none of the judges, or has judged.
    error NotJudge(uint256 requestId, address caller);

    /// @notice A judge has to give its reasons.
    error ReasoningMissing();

    /// @notice This winner revealed nothing, or is named twice.
    error WrongWinner(uint256 requestId, address winner);

    /// @notice There is no winner; or the winners are not all who voted for that option.
    error WrongWinners(uint256 requestId);

    /// @notice Answer and winners are those that were disputed.
    error NothingOverturned(uint256 requestId);

    /// @notice The target is not the requester, or it has taken the callback.
    error NothingToCall(uint256 requestId, address target);

    /// @notice Money sent there could not be taken out again.
    error WrongRecipient(address to);

    /// @notice There is no contract at the token's address.
    error TokenMissing(address token);

    /// @notice The caller has nothing to withdraw.
    error NothingToWithdraw(address token, address caller);

    /// @notice Registers the caller as a candidate. The call's value is `judgeBondOf`.
    /// @dev Until the last reveal, or in a dispute's time of registration. Not for info agents, the requester, the
    ///   disputer, or the judge whose answer is disputed. Any number may register.
    function registerJudge(uint256 requestId) external payable;

    /// @notice Credits the bond of a candidate that no draw can take any more. For everybody.
    function releaseJudge(uint256 requestId, address account) external;

    /// @notice Lets the shares of a request be sent when they are due, with bounded gas. For the requester, before the
    ///   first commitment.
    function payDirectly(uint256 requestId) external;

    /// @notice Raises the wei that depend on the answer, beside reward and bonds. For the requester, while agents commit.
    /// @dev A dispute's bonds cover it. The reward in a token is part of it: without a declared value the answer of such a
    ///   request is final, as nobody knows what undoing it would move.
    function declareValue(uint256 requestId, uint256 valueWei) external;

    /// @notice Draws the judge, or the judges of a dispute. For everybody.
    /// @param header the RLP of the header of block `seedBlockOf`; empty for a deterministic oracle
    function selectJudge(uint256 requestId, bytes calldata header) external;

    /// @notice Ends a phase whose time is over. For everybody.
    function advance(uint256 requestId) external;

    /// @notice Tells the requester that its request ended. For everybody, until it is taken.
    /// @param target the requester
    function callback(address target, uint256 requestId) external returns (bool success);

    /// @notice Sends what the caller may withdraw to an address.
    /// @param token zero for wei
    function withdraw(address token, address payable to) external returns (uint256 amount);

    /// @notice Sends an account what it may withdraw, to itself. For everybody.
    /// @param token zero for wei
    function withdrawFor(address token, address account) external returns (uint256 amount);

    /// @notice Returns the commitment of an agent to an answer.
    /// @dev `keccak256(abi.encode(chain ID, oracle, requestId, agent, answer, nonce))`, or with `plainCommitments`
    ///   `keccak256(abi.encode(answer, nonce))`. Compute it yourself: who runs the node that you ask learns the answer.
    function commitmentOf(uint256 requestId, address agent, bytes calldata answer, uint256 nonce)
        external
        view
        returns (bytes32);

    /// @notice Returns what an account may withdraw.
    function claimable(address token, address account) external view returns (uint256);

    /// @notice Returns the phase, and its last second in seconds since 1970.
    function phaseOf(uint256 requestId) external view returns (Phase phase, uint256 endsAt);

    /// @notice Returns the judges that were drawn and are not absent, and the candidates that were not drawn.
    /// @param ofDispute false for the request's judge, of whom there is one at most
    function judgesOf(uint256 requestId, bool ofDispute)
        external
        view
        returns (address[] memory judges, address[] memory candidates);

    /// @notice Tells whether a judge of the request's dispute has decided.
    function hasJudged(uint256 requestId, address judge) external view returns (bool);

    /// @notice Returns the wei of a judge's bond.
    /// @param ofDispute whether for the request's dispute: those who can overturn put up together what it moves
    function judgeBondOf(uint256 requestId, bool ofDispute) external view returns (uint256);

    /// @notice Returns the block whose PREVRANDAO the next judge is drawn with; zero if none is to be drawn.
    function seedBlockOf(uint256 requestId) external view returns (uint256);

    /// @notice Returns the wei of a dispute's bond: what overturning moves, at least.
    /// @dev That is the reward in wei, the bonds of info agents and judge, and the declared value.
    function disputeBondOf(uint256 requestId) external view returns (uint256);

    /// @notice Returns the wei that the requester declared.
    function declaredValueOf(uint256 requestId) external view returns (uint256);

    /// @notice Tells whether the request's shares are sent when they are due.
    function paysDirectly(uint256 requestId) external view returns (bool);

    /// @notice Returns what became of a participant; none before the request ended.
    function outcomeOf(uint256 requestId, address account) external view returns (Outcome);

    /// @notice Returns what the oracle holds for a request beside what is claimable: after its end, the bonds of candidates
    ///   whom nobody released.
    /// @param ofToken base units of the reward token; zero for the native asset
    function escrowOf(uint256 requestId) external view returns (uint256 ofWei, uint256 ofToken);

    /// @notice Returns how many requests were made; the last one's number.
    function requestCount() external view returns (uint256);
}
