// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IGovernor} from "@openzeppelin/contracts/governance/IGovernor.sol";
import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {DeskAgent} from "../trading/DeskAgent.sol";
import {IBallot} from "./IBallot.sol";
import {ProposalText} from "./ProposalText.sol";
import {QuotedText} from "./QuotedText.sol";
import {ReadProposalTool} from "./ReadProposalTool.sol";
import {VoteTool} from "./VoteTool.sol";

/// @title Votes on proposals with the votes that are delegated to it, by its owner's mandates
/// @notice Delegate the votes of a token to this address, and let the owner, or a caller whom the owner allowed, ask for a
///   vote on one proposal. Contracts tell what the proposal does, and choose the mandate for its topic. The agent's model
///   reads both, votes for, against or abstains, and gives a reason. Whatever it says, it votes on that proposal alone,
///   once, within its voting period, and after it has read it.
contract VotingAgent is DeskAgent, IBallot {
    /// @notice Only the agent's own tools read and vote.
    error NotVoteTool(address caller);

    /// @notice No proposal is open for a vote of this agent: nobody asked, or it has voted.
    error NoOpenBallot();

    /// @notice The agent tried to vote on a proposal that it hasn't read.
    error NotRead(uint256 proposalId);

    /// @notice The agent's run ended without a vote.
    error NotVoted(string answer);

    /// @notice The owner hasn't said how to vote on such a proposal.
    error MandateMissing(ProposalText.Topic topic);

    /// @notice A mandate was changed.
    event MandateSet(ProposalText.Topic indexed topic, string mandate);

    /// @notice The agent voted.
    event Voted(uint256 indexed proposalId, uint8 support, uint256 weight, string reason);

    /// @notice Bytes of a mandate.
    uint256 public constant MAX_MANDATE_BYTES = 400;

    /// @notice Bytes of a reason.
    uint256 public constant MAX_REASON_BYTES = 300;

    /// @notice Bytes of a proposal's text that the model reads.
    uint256 public constant MAX_PROPOSAL_BYTES = 1_200;

    /// @dev Reading, voting, the answer, and one more.
    uint16 private constant ITERATIONS = 4;

    string private constant NAME = "Voting Agent";
    string private constant DESCRIPTION = "Votes on a proposal";
    string private constant INPUT = "what to do";
    string private constant PROMPT = "You vote on proposals. Do each thing that the request asks, in order.";

    /// @notice Counts the votes.
    IGovernor public immutable governor;

    /// @notice Tells in words what a proposal does.
    ProposalText public immutable proposalText;

    /// @notice How to vote on a topic, in plain English: the request that the model reads.
    mapping(ProposalText.Topic topic => string) public mandateFor;

    mapping(address tool => bool) private isVoteTool;

    uint256 private transient openProposal;
    bool private transient isRead;
    string private openText;

    /// @param owner asks for votes, and allows callers
    /// @param _agentExecutorContract a contract that implements IERCAgentExecutor; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    constructor(
        address owner,
        address _agentExecutorContract,
        string memory _modelId,
        IGovernor _governor,
        ProposalText _proposalText
    )
        IERCAgent(
            _agentExecutorContract,
            _modelId,
            NAME,
            DESCRIPTION,
            INPUT,
            PROMPT,
            new IERCAgentTool[](0),
            ITERATIONS
        )
        Ownable(owner)
    {
        governor = _governor;
        proposalText = _proposalText;
        tools.push(new ReadProposalTool(this));
        _addVoteTool(1, "vote_for", "Votes for the proposal");
        _addVoteTool(0, "vote_against", "Votes against the proposal");
        _addVoteTool(2, "abstain", "Abstains from the vote");
    }

    /// @notice Says how to vote on a topic. For the owner.
    /// @param mandate for example `Read the proposal. Vote for the proposal because "it is safer".`
    function setMandate(ProposalText.Topic topic, string calldata mandate) external onlyOwner {
        mandateFor[topic] = QuotedText.requireSize(mandate, MAX_MANDATE_BYTES);
        emit MandateSet(topic, mandate);
    }

    /// @notice Votes on a proposal. For the owner and callers whom the owner allowed.
    /// @dev The arguments are those of `propose`. They make the proposal's ID, so nobody can show the agent another text.
    /// @return proposalId what was voted on
    /// @return answer the agent's last words
    function voteOn(
        address[] memory targets,
        uint256[] memory values,
        bytes[] memory calldatas,
        string memory description
    ) external onlyCaller returns (uint256 proposalId, string memory answer) {
        proposalId = governor.hashProposal(targets, values, calldatas, keccak256(bytes(description)));
        if (governor.state(proposalId) != IGovernor.ProposalState.Active) {
            bytes32 active = bytes32(1 << uint8(IGovernor.ProposalState.Active));
            revert IGovernor.GovernorUnexpectedProposalState(proposalId, governor.state(proposalId), active);
        }
        string memory mandate = _mandateFor(targets, values, calldatas);
        string memory text = proposalText.describe(targets, values, calldatas, description);
        openText = QuotedText.quotable(text, MAX_PROPOSAL_BYTES);
        (openProposal, isRead) = (proposalId, false);
        answer = _runOrRevert(mandate);
        if (openProposal != 0) revert NotVoted(answer);
        delete openText;
    }

    /// @inheritdoc IBallot
    function read() external returns (string memory) {
        if (msg.sender != address(tools[0])) revert NotVoteTool(msg.sender);
        if (openProposal == 0) revert NoOpenBallot();
        isRead = true;
        return openText;
    }

    /// @inheritdoc IBallot
    function vote(uint8 support, string memory reason) external {
        if (!isVoteTool[msg.sender]) revert NotVoteTool(msg.sender);
        uint256 proposalId = openProposal;
        if (proposalId == 0) revert NoOpenBallot();
        if (!isRead) revert NotRead(proposalId);
        openProposal = 0;
        reason = QuotedText.quotable(reason, MAX_REASON_BYTES);
        uint256 weight = governor.castVoteWithReason(proposalId, support, reason);
        emit Voted(proposalId, support, weight, reason);
    }

    function _mandateFor(address[] memory targets, uint256[] memory values, bytes[] memory calldatas)
        private
        view
        returns (string memory mandate)
    {
        ProposalText.Topic topic = proposalText.topicOf(targets, values, calldatas);
        mandate = mandateFor[topic];
        if (bytes(mandate).length == 0) revert MandateMissing(topic);
    }

    function _addVoteTool(uint8 support, string memory toolName, string memory toolDescription) private {
        VoteTool tool = new VoteTool(this, support, toolName, toolDescription);
        isVoteTool[address(tool)] = true;
        tools.push(tool);
    }
}
