// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract StableCoin is ERC20, Ownable {
    constructor(string memory name_, string memory symbol_) ERC20(name_, symbol_) Ownable(msg.sender) {}

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title The fund of the brewery's members
contract MembersFund is Ownable {
    using SafeERC20 for IERC20;

    error NotTheTreasurer(address caller);
    error NothingContributed();
    error FundTooLow(uint256 available);
    error TransferFailed(address supplier);

    event Contributed(address indexed member, uint256 amount);
    event EtherContributed(address indexed member, uint256 amount);
    event SupplierPaid(address indexed supplier, uint256 amount);
    event SupplierPaidInEther(address indexed supplier, uint256 amount);

    IERC20 public immutable currency;
    address public treasurer;
    mapping(address member => uint256) public contributionOf;
    mapping(address member => uint256) public etherContributionOf;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    modifier onlyTreasurer() {
        if (msg.sender != treasurer) revert NotTheTreasurer(msg.sender);
        _;
    }

    function setTreasurer(address account) external onlyOwner {
        treasurer = account;
    }

    /// @notice Contributes to the members' fund.
    /// @param amount how much
    function contribute(uint256 amount) external {
        if (amount == 0) revert NothingContributed();
        contributionOf[msg.sender] += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit Contributed(msg.sender, amount);
    }

    /// @notice Contributes ether to the members' fund.
    function contributeEther() external payable {
        if (msg.value == 0) revert NothingContributed();
        etherContributionOf[msg.sender] += msg.value;
        emit EtherContributed(msg.sender, msg.value);
    }

    /// @notice Pays a supplier out of the members' fund.
    /// @param supplier who gets the money
    /// @param amount how much
    function paySupplier(address supplier, uint256 amount) external onlyTreasurer {
        uint256 available = currency.balanceOf(address(this));
        if (amount > available) revert FundTooLow(available);
        currency.safeTransfer(supplier, amount);
        emit SupplierPaid(supplier, amount);
    }

    /// @notice Pays a supplier in ether out of the members' fund.
    /// @param supplier who gets the ether
    /// @param amount how much
    function paySupplierInEther(address payable supplier, uint256 amount) external onlyTreasurer {
        if (amount > address(this).balance) revert FundTooLow(address(this).balance);
        (bool isPaid,) = supplier.call{value: amount}("");
        if (!isPaid) revert TransferFailed(supplier);
        emit SupplierPaidInEther(supplier, amount);
    }
}

/// @title Votes of the members
contract MembersVote is Ownable {
    error NoSuchProposal(uint256 proposalId);
    error NotAMember(address caller);
    error AlreadyVoted(uint256 proposalId, address member);
    error NoSuchChoice(uint8 support);

    event ProposalAdded(uint256 indexed proposalId, string title);
    event VoteCast(uint256 indexed proposalId, address indexed member, uint8 support);

    uint256 public proposalCount;
    mapping(address => bool) public isMember;
    mapping(uint256 proposalId => string) public titleOf;
    mapping(uint256 proposalId => mapping(address member => bool)) public hasVoted;
    mapping(uint256 proposalId => mapping(uint8 support => uint256)) private counts;

    constructor() Ownable(msg.sender) {}

    function setMember(address account, bool member) external onlyOwner {
        isMember[account] = member;
    }

    function addProposal(string calldata title) external onlyOwner returns (uint256 proposalId) {
        proposalId = ++proposalCount;
        titleOf[proposalId] = title;
        emit ProposalAdded(proposalId, title);
    }

    /// @notice Votes on a proposal.
    /// @param proposalId number of the proposal
    /// @param support 0 = against, 1 = for, 2 = abstain
    function castVote(uint256 proposalId, uint8 support) external {
        if (!isMember[msg.sender]) revert NotAMember(msg.sender);
        if (proposalId == 0 || proposalId > proposalCount) revert NoSuchProposal(proposalId);
        if (support > 2) revert NoSuchChoice(support);
        if (hasVoted[proposalId][msg.sender]) revert AlreadyVoted(proposalId, msg.sender);
        hasVoted[proposalId][msg.sender] = true;
        counts[proposalId][support]++;
        emit VoteCast(proposalId, msg.sender, support);
    }

    /// @notice Tells how many members voted for a proposal.
    /// @param proposalId number of the proposal
    function votesFor(uint256 proposalId) external view returns (uint256) {
        if (proposalId == 0 || proposalId > proposalCount) revert NoSuchProposal(proposalId);
        return counts[proposalId][1];
    }
}
