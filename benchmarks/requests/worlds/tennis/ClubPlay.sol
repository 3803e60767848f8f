// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

contract CourtBooking is Ownable {
    uint8 public constant COURTS = 6;
    mapping(uint8 court => mapping(uint8 day => mapping(uint8 hour => address))) public bookedBy;

    event CourtBooked(uint8 indexed court, uint8 day, uint8 hour, address indexed by);
    event BookingCancelled(uint8 indexed court, uint8 day, uint8 hour);

    constructor() Ownable(msg.sender) {}

    function bookCourt(uint8 court, uint8 day, uint8 hour) external {
        _book(court, day, hour, msg.sender);
    }

    function bookFor(address team, uint8 court, uint8 day, uint8 hour) external onlyOwner {
        _book(court, day, hour, team);
    }

    function cancelBooking(uint8 court, uint8 day, uint8 hour) external {
        require(bookedBy[court][day][hour] == msg.sender, "not your booking");
        delete bookedBy[court][day][hour];
        emit BookingCancelled(court, day, hour);
    }

    function _book(uint8 court, uint8 day, uint8 hour, address team) private {
        require(court > 0 && court <= COURTS, "no such court");
        require(day > 0 && day <= 31, "no such day");
        require(hour >= 7 && hour <= 21, "closed");
        require(bookedBy[court][day][hour] == address(0), "already booked");
        bookedBy[court][day][hour] = team;
        emit CourtBooked(court, day, hour, team);
    }
}

/// @title The ladder of the club's players
contract Ladder is Ownable {
    error NotTheCaptain(address caller);
    error NotOnLadder(address player);
    error AlreadyOnLadder(address player);
    error RankTaken(uint256 rank, address by);
    error NoSuchRank(uint256 rank);

    uint256 public constant LOWEST = 50;
    address public captain;
    mapping(address player => uint256) private ranks;
    mapping(uint256 rank => address) public playerAt;

    constructor() Ownable(msg.sender) {}

    modifier onlyCaptain() {
        if (msg.sender != captain && msg.sender != owner()) revert NotTheCaptain(msg.sender);
        _;
    }

    function setCaptain(address account) external onlyOwner {
        captain = account;
    }

    /// @notice Adds a player to the ladder at a free rank.
    /// @param player who joins
    /// @param rank 1 to 50, 1 is the best
    function addPlayer(address player, uint256 rank) external onlyCaptain {
        if (ranks[player] != 0) revert AlreadyOnLadder(player);
        if (rank == 0 || rank > LOWEST) revert NoSuchRank(rank);
        if (playerAt[rank] != address(0)) revert RankTaken(rank, playerAt[rank]);
        (ranks[player], playerAt[rank]) = (rank, player);
    }

    /// @notice Swaps the ranks of two players.
    /// @param first one player
    /// @param second the other player
    function swapRanks(address first, address second) external onlyCaptain {
        (uint256 one, uint256 other) = (rankOf(first), rankOf(second));
        (ranks[first], ranks[second]) = (other, one);
        (playerAt[one], playerAt[other]) = (second, first);
    }

    /// @notice Takes a player off the ladder.
    /// @param player who leaves
    function removePlayer(address player) external onlyCaptain {
        delete playerAt[rankOf(player)];
        delete ranks[player];
    }

    /// @notice Tells the rank of a player.
    /// @param player which player
    function rankOf(address player) public view returns (uint256 rank) {
        rank = ranks[player];
        if (rank == 0) revert NotOnLadder(player);
    }
}

/// @title Votes of the teams
contract ClubPolls is Ownable {
    error NoSuchPoll(uint256 pollId);
    error AlreadyVoted(uint256 pollId, address voter);
    error NotATeam(address caller);
    error WrongSupport(uint8 support);

    mapping(address => bool) public isTeam;
    mapping(uint256 pollId => string) public questionOf;
    mapping(uint256 pollId => mapping(uint8 support => uint256)) public votes;
    mapping(uint256 pollId => mapping(address voter => bool)) public hasVoted;
    uint256 public pollCount;

    constructor() Ownable(msg.sender) {}

    modifier onlyTeam() {
        if (!isTeam[msg.sender] && msg.sender != owner()) revert NotATeam(msg.sender);
        _;
    }

    function setTeam(address team, bool allowed) external onlyOwner {
        isTeam[team] = allowed;
    }

    /// @notice Opens a new poll.
    /// @param question what is voted on
    function openPoll(string calldata question) external onlyTeam returns (uint256 pollId) {
        pollId = ++pollCount;
        questionOf[pollId] = question;
    }

    /// @notice Votes in a poll, once.
    /// @param pollId number of the poll
    /// @param support 0 = against, 1 = for, 2 = abstain
    function castVote(uint256 pollId, uint8 support) external onlyTeam {
        if (pollId == 0 || pollId > pollCount) revert NoSuchPoll(pollId);
        if (support > 2) revert WrongSupport(support);
        if (hasVoted[pollId][msg.sender]) revert AlreadyVoted(pollId, msg.sender);
        hasVoted[pollId][msg.sender] = true;
        votes[pollId][support]++;
    }
}
