// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {AgentCouncilOracle} from "../../council/AgentCouncilOracle.sol";
import {IAgentCouncilOracle} from "../../council/IAgentCouncilOracle.sol";
import {Phase} from "../../council/ICouncil.sol";
import {ICouncilClient} from "../../council/ICouncilClient.sol";

/// @title A market on a question with yes or no, which a council answers
/// @notice It asks at deployment. Stakes are taken while the council's agents commit, so nobody stakes after a reveal.
///   Those who staked on the answer share all stakes. If the council fails, answers neither yes nor no, its vote is a tie that
///   one judge broke, or nobody staked on the answer, everybody gets the own stakes back.
///   Whoever disputes the answer puts up the stakes, too: the market declares them to the council. It takes a token only of
///   a council without disputes, as nobody knows what a token is worth in wei.
contract PredictionMarket is ICouncilClient, ReentrancyGuard {
    using SafeERC20 for IERC20;

    enum Result {
        Open,
        Yes,
        No,
        Refund
    }

    /// @notice The caller is not the oracle.
    error NotOracle(address caller);

    /// @notice The request is another one.
    error WrongRequest(uint256 requestId, uint256 expected);

    /// @notice The market has its result.
    error AlreadySettled(Result result);

    /// @notice The council has no final answer yet.
    error NotFinal(uint256 requestId, Phase phase);

    /// @notice The council's agents no longer commit.
    error StakesClosed(Phase phase);

    /// @notice The call's value is not the stake, or what arrived is not the amount, or it is zero.
    error WrongStake(uint256 amount, uint256 received);

    /// @notice A dispute's bonds could not cover stakes in a token.
    error StakesUncovered(address token);

    /// @notice The account has nothing to claim.
    error NothingToClaim(address account);

    /// @notice The receiver refused the ether.
    error PaymentRefused(address to, uint256 amount);

    /// @notice Somebody staked.
    event Staked(address indexed account, bool onYes, uint256 amount);

    /// @notice The market has its result.
    event Settled(Result result, bytes answer);

    /// @notice Somebody was paid.
    event Claimed(address indexed account, uint256 amount);

    string public constant SPECIFICATIONS = "OPTIONS: yes|no";

    AgentCouncilOracle public immutable oracle;
    /// @notice What is staked; zero for ether.
    IERC20 public immutable token;
    /// @notice Who paid the council, and gets back what the council gives back.
    address payable public immutable sponsor;
    uint256 public immutable requestId;
    bool private immutable isDisputable;

    Result public result;
    mapping(bool onYes => mapping(address account => uint256)) public stakeOf;
    mapping(bool onYes => uint256) public totalOf;
    uint256 private potLeft;
    uint256 private stakesLeft;

    /// @dev The call's value is the council's reward.
    /// @param bond wei of each agent's bond
    /// @param deadline last second to stake, in seconds since 1970
    constructor(
        AgentCouncilOracle oracle_,
        IERC20 token_,
        string memory question,
        uint256 numInfoAgents,
        uint256 bond,
        uint256 deadline
    ) payable {
        (oracle, token, sponsor) = (oracle_, token_, payable(msg.sender));
        isDisputable = oracle_.rules().terms().disputeWindow > 0;
        _requireCovered();
        IAgentCouncilOracle.AgentCapabilities memory none;
        requestId = oracle_.createRequest{value: msg.value}(
            question, numInfoAgents, bond, deadline, address(0), SPECIFICATIONS, none
        );
    }

    /// @notice Stakes on an answer. The call's value is the amount if ether is staked, else zero.
    function stake(bool onYes, uint256 amount) external payable nonReentrant {
        (Phase phase, uint256 endsAt) = oracle.phaseOf(requestId);
        if (phase != Phase.Commit || block.timestamp > endsAt) revert StakesClosed(phase);
        uint256 received = _take(amount);
        if (amount == 0 || received != amount) revert WrongStake(amount, received);
        stakeOf[onYes][msg.sender] += amount;
        totalOf[onYes] += amount;
        emit Staked(msg.sender, onYes, amount);
        if (isDisputable) _declare(totalOf[true] + totalOf[false]);
    }

    /// @inheritdoc ICouncilClient
    function handleResolution(uint256 id, bool resolved, bytes calldata finalAnswer) external {
        _requireOracle();
        if (id != requestId) revert WrongRequest(id, requestId);
        _settle(resolved, finalAnswer);
    }

    /// @notice Reads the end of the council, for when the callback failed or never came. For everybody.
    function settle() external {
        (bytes memory answer, bool isFinal) = oracle.getResolution(requestId);
        (Phase phase,) = oracle.phaseOf(requestId);
        if (!isFinal && phase != Phase.Failed) revert NotFinal(requestId, phase);
        _settle(isFinal, answer);
    }

    /// @notice Pays the caller its part.
    /// @return amount wei, or base units of the token
    function claim() external nonReentrant returns (uint256 amount) {
        amount = _clear(msg.sender);
        if (amount == 0) revert NothingToClaim(msg.sender);
        emit Claimed(msg.sender, amount);
        if (address(token) != address(0)) {
            token.safeTransfer(msg.sender, amount);
            return amount;
        }
        (bool isPaid,) = msg.sender.call{value: amount}("");
        if (!isPaid) revert PaymentRefused(msg.sender, amount);
    }

    /// @notice Sends the sponsor what the council gave back: the reward of a failed request, and parts of bonds.
    function sweep() external returns (uint256 amount) {
        return oracle.withdraw(address(0), sponsor);
    }

    function _declare(uint256 valueWei) internal virtual {
        oracle.declareValue(requestId, valueWei);
    }

    function _requireCovered() internal view virtual {
        if (isDisputable && address(token) != address(0)) revert StakesUncovered(address(token));
    }

    /// @dev Whether votes decided. One judge has less at stake than a market.
    function _isVoted() internal view virtual returns (bool) {
        (address[] memory judges,) = oracle.judgesOf(requestId, false);
        return judges.length == 0;
    }

    function _requireOracle() internal view virtual {
        if (msg.sender != address(oracle)) revert NotOracle(msg.sender);
    }

    /// @dev What is shared last is what is left, so the rounding leaves nothing in the market.
    function _clear(address account) internal virtual returns (uint256 amount) {
        if (result == Result.Open) return 0;
        if (result == Result.Refund) {
            amount = stakeOf[true][account] + stakeOf[false][account];
            (stakeOf[true][account], stakeOf[false][account]) = (0, 0);
            return amount;
        }
        uint256 own = stakeOf[result == Result.Yes][account];
        if (own == 0) return 0;
        stakeOf[result == Result.Yes][account] = 0;
        amount = Math.mulDiv(potLeft, own, stakesLeft);
        (potLeft, stakesLeft) = (potLeft - amount, stakesLeft - own);
    }

    function _settle(bool resolved, bytes memory answer) private {
        if (result != Result.Open) revert AlreadySettled(result);
        Result found = resolved && _isVoted() ? _resultOf(answer) : Result.Refund;
        if (found != Result.Refund) {
            stakesLeft = totalOf[found == Result.Yes];
            if (stakesLeft == 0) found = Result.Refund;
        }
        potLeft = totalOf[true] + totalOf[false];
        result = found;
        emit Settled(found, answer);
    }

    function _resultOf(bytes memory answer) private pure returns (Result) {
        if (keccak256(answer) == keccak256("yes")) return Result.Yes;
        return keccak256(answer) == keccak256("no") ? Result.No : Result.Refund;
    }

    function _take(uint256 amount) private returns (uint256 received) {
        if (address(token) == address(0)) return msg.value;
        if (msg.value != 0) revert WrongStake(0, msg.value);
        uint256 before = token.balanceOf(address(this));
        token.safeTransferFrom(msg.sender, address(this), amount);
        return token.balanceOf(address(this)) - before;
    }
}
