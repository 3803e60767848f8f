// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Rooms for rehearsals in the current month
contract RehearsalRooms is Ownable {
    error NoSuchRoom(uint8 room);
    error NoSuchHour(uint8 day, uint8 hour);
    error RoomTaken(uint8 room, uint8 day, uint8 hour);
    error NotYourBooking(uint8 room, uint8 day, uint8 hour);

    mapping(uint8 room => mapping(uint8 day => mapping(uint8 hour => address))) public bookedBy;

    constructor() Ownable(msg.sender) {}

    /// @notice Books a room for a rehearsal of one hour.
    /// @param room number of the room, 1 to 5
    /// @param day day of the month, 1 to 31
    /// @param hour when it begins, 9 to 21
    function bookRoom(uint8 room, uint8 day, uint8 hour) external {
        _book(room, day, hour, msg.sender);
    }

    /// @notice Cancels a booking of a room.
    /// @param room number of the room, 1 to 5
    /// @param day day of the month, 1 to 31
    /// @param hour when it begins, 9 to 21
    function cancelRoom(uint8 room, uint8 day, uint8 hour) external {
        if (bookedBy[room][day][hour] != msg.sender) revert NotYourBooking(room, day, hour);
        delete bookedBy[room][day][hour];
    }

    function bookFor(address group, uint8 room, uint8 day, uint8 hour) external onlyOwner {
        _book(room, day, hour, group);
    }

    function _book(uint8 room, uint8 day, uint8 hour, address group) private {
        if (room == 0 || room > 5) revert NoSuchRoom(room);
        if (day == 0 || day > 31 || hour < 9 || hour > 21) revert NoSuchHour(day, hour);
        if (bookedBy[room][day][hour] != address(0)) revert RoomTaken(room, day, hour);
        bookedBy[room][day][hour] = group;
    }
}

contract ScoreLibrary is Ownable {
    uint256 public constant SCORES = 60;

    address public librarian;
    mapping(uint256 => address) public borrowerOf;
    mapping(address => uint256) private borrowed;

    event ScoreLent(uint256 indexed score, address indexed singer);
    event ScoreReturned(uint256 indexed score);

    modifier onlyLibrarian() {
        require(msg.sender == librarian || msg.sender == owner(), "not the librarian");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setLibrarian(address account) external onlyOwner {
        librarian = account;
    }

    function lendScore(uint256 score, address singer) external onlyLibrarian {
        require(score > 0 && score <= SCORES, "no such score");
        require(borrowerOf[score] == address(0), "already lent");
        borrowerOf[score] = singer;
        borrowed[singer]++;
        emit ScoreLent(score, singer);
    }

    function returnScore(uint256 score) external onlyLibrarian {
        address singer = borrowerOf[score];
        require(singer != address(0), "not lent");
        delete borrowerOf[score];
        borrowed[singer]--;
        emit ScoreReturned(score);
    }

    function scoresBorrowed(address singer) external view returns (uint256) {
        return borrowed[singer];
    }
}

/// @title Votes of the general assembly
contract ChoirAssembly is Ownable {
    error NotAMember(address caller);
    error NoSuchMotion(uint256 motion);
    error MotionClosed(uint256 motion);
    error AlreadyVoted(address member, uint256 motion);
    error InvalidSupport(uint8 support);

    event VoteCast(address indexed member, uint256 indexed motion, uint8 support);

    uint256 public motions;
    mapping(address => bool) public isMember;
    mapping(uint256 motion => bool) public isClosed;
    mapping(uint256 motion => mapping(uint8 support => uint256)) public counts;
    mapping(uint256 motion => mapping(address => bool)) public hasVoted;

    constructor() Ownable(msg.sender) {}

    function admit(address member) external onlyOwner {
        isMember[member] = true;
    }

    function propose(uint256 number) external onlyOwner {
        motions += number;
    }

    function closeMotion(uint256 motion) external onlyOwner {
        isClosed[motion] = true;
    }

    function recordPostalVote(address member, uint256 motion, uint8 support) external onlyOwner {
        _cast(member, motion, support);
    }

    /// @notice Casts a vote on a motion.
    /// @param motion number of the motion
    /// @param support 0 = against, 1 = for, 2 = abstain
    function castVote(uint256 motion, uint8 support) external {
        _cast(msg.sender, motion, support);
    }

    function _cast(address member, uint256 motion, uint8 support) private {
        if (!isMember[member]) revert NotAMember(member);
        if (motion == 0 || motion > motions) revert NoSuchMotion(motion);
        if (isClosed[motion]) revert MotionClosed(motion);
        if (support > 2) revert InvalidSupport(support);
        if (hasVoted[motion][member]) revert AlreadyVoted(member, motion);
        hasVoted[motion][member] = true;
        counts[motion][support]++;
        emit VoteCast(member, motion, support);
    }
}

/// @title The board with announcements
contract NoticeBoard is Ownable {
    error NoSuchNotice(uint256 number);
    error EmptyNotice();

    event Posted(uint256 indexed number, string text);

    string[] private notices;
    uint256 public pinned;
    address public keeper;

    constructor() Ownable(msg.sender) {}

    modifier onlyKeeper() {
        require(msg.sender == keeper || msg.sender == owner(), "not the keeper");
        _;
    }

    function setKeeper(address account) external onlyOwner {
        keeper = account;
    }

    /// @notice Posts an announcement on the board.
    /// @param text what it says
    function postNotice(string calldata text) external onlyKeeper {
        if (bytes(text).length == 0) revert EmptyNotice();
        notices.push(text);
        emit Posted(notices.length, text);
    }

    /// @notice Pins a notice to the top of the board.
    /// @param number number of the notice
    function pinNotice(uint256 number) external onlyKeeper {
        if (number == 0 || number > notices.length) revert NoSuchNotice(number);
        pinned = number;
    }
}
