// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// @title A club with a door
contract Club is AccessControl {
    bytes32 public constant DOORMAN = keccak256("DOORMAN");

    string public motto;
    bool public isPaused;
    mapping(address => bool) public isMember;
    mapping(address => bool) public isInvited;
    mapping(address => uint8) public rankOf;

    constructor(address doorman) {
        _grantRole(DEFAULT_ADMIN_ROLE, msg.sender);
        _grantRole(DOORMAN, doorman);
    }

    /// @notice Admits somebody. For doormen.
    function admit(address person) external onlyRole(DOORMAN) {
        isMember[person] = true;
    }

    /// @notice Pauses the club. For administrators.
    function pause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        isPaused = true;
    }

    /// @notice Joins the club.
    function join() external {
        isMember[msg.sender] = true;
    }

    /// @notice Leaves the club.
    function leave() external {
        isMember[msg.sender] = false;
    }

    /// @notice Gives a rank to a member.
    /// @param member who gets it
    /// @param rank 0 to 255
    function setRank(address member, uint8 rank) external {
        rankOf[member] = rank;
    }

    /// @notice Sets the motto.
    function setMotto(string calldata newMotto) external {
        motto = newMotto;
    }

    /// @notice Invites people.
    function invite(address[] calldata people) external {
        for (uint256 i = 0; i < people.length; i++) isInvited[people[i]] = true;
    }
}

/// @title Votes about the village's garden
contract GardenDao is Ownable {
    error UnknownProposal(uint256 proposalId);
    error InvalidVoteType(uint8 support);
    error AlreadyCast(address voter);

    event VoteCast(address indexed voter, uint256 proposalId, uint8 support, string reason);

    uint256 public proposals;
    uint48 public votingDelay = 1;
    mapping(uint256 proposalId => mapping(uint8 support => uint256)) public votes;
    mapping(uint256 proposalId => mapping(address voter => bool)) public hasVoted;

    constructor(uint256 proposals_) Ownable(msg.sender) {
        proposals = proposals_;
    }

    /// @notice module:core
    function state(uint256 proposalId) public view returns (uint8) {
        if (proposalId == 0 || proposalId > proposals) revert UnknownProposal(proposalId);
        return 1;
    }

    /// @notice Cast a vote. Emits a {VoteCast} event.
    /// @param proposalId number of the proposal
    /// @param support 0 = against, 1 = for, 2 = abstain
    function castVote(uint256 proposalId, uint8 support) external {
        _cast(proposalId, support, "");
    }

    /// @notice Cast a vote with a reason. Emits a {VoteCast} event.
    /// @param proposalId number of the proposal
    /// @param support 0 = against, 1 = for, 2 = abstain
    /// @param reason why
    function castVoteWithReason(uint256 proposalId, uint8 support, string calldata reason) external {
        _cast(proposalId, support, reason);
    }

    /// @notice Sets the voting delay. For the owner.
    function setVotingDelay(uint48 newVotingDelay) external onlyOwner {
        votingDelay = newVotingDelay;
    }

    function _cast(uint256 proposalId, uint8 support, string memory reason) private {
        state(proposalId);
        if (support > 2) revert InvalidVoteType(support);
        if (hasVoted[proposalId][msg.sender]) revert AlreadyCast(msg.sender);
        hasVoted[proposalId][msg.sender] = true;
        votes[proposalId][support]++;
        emit VoteCast(msg.sender, proposalId, support, reason);
    }
}

/// @title Cats, each of its own
contract Cats is ERC721, Ownable {
    error WrongPrice(uint256 value, uint256 price);

    uint256 public constant PRICE = 0.01 ether;
    uint256 public nextCat = 100;

    constructor() ERC721("Cats", "CAT") Ownable(msg.sender) {}

    function mint(address to, uint256 cat) external onlyOwner {
        _mint(to, cat);
    }

    /// @notice Buys one new cat for 0.01 ether.
    function buy() external payable {
        if (msg.value != PRICE) revert WrongPrice(msg.value, PRICE);
        _mint(msg.sender, nextCat++);
    }
}

/// @title Sells cats for a token
contract CatMarket {
    using SafeERC20 for IERC20;

    error NotForSale(uint256 cat);
    error NotSeller(address caller);

    ERC721 public immutable cats;
    IERC20 public immutable currency;
    mapping(uint256 cat => uint256) public priceOf;
    mapping(uint256 cat => address) public sellerOf;

    constructor(ERC721 cats_, IERC20 currency_) {
        (cats, currency) = (cats_, currency_);
    }

    /// @notice Offers a cat for sale.
    /// @param cat number of the cat
    /// @param price in the market's currency
    function list(uint256 cat, uint256 price) external {
        (sellerOf[cat], priceOf[cat]) = (msg.sender, price);
        cats.transferFrom(msg.sender, address(this), cat);
    }

    /// @notice Purchases a cat that is for sale.
    /// @param cat number of the cat
    function purchase(uint256 cat) external {
        if (sellerOf[cat] == address(0)) revert NotForSale(cat);
        currency.safeTransferFrom(msg.sender, sellerOf[cat], priceOf[cat]);
        delete sellerOf[cat];
        cats.transferFrom(address(this), msg.sender, cat);
    }

    /// @notice Takes a cat off the market.
    /// @param cat number of the cat
    function cancel(uint256 cat) external {
        if (sellerOf[cat] != msg.sender) revert NotSeller(msg.sender);
        delete sellerOf[cat];
        cats.transferFrom(address(this), msg.sender, cat);
    }
}

/// @title Things that are made by the piece
contract Items is ERC1155 {
    constructor() ERC1155("") {}

    /// @notice Crafts pieces of an item.
    /// @param id number of the item
    /// @param amount how many pieces
    function craft(uint256 id, uint256 amount) external {
        _mint(msg.sender, id, amount, "");
    }
}

/// @title Orders of several items at once
contract Orders {
    struct Item {
        uint256 item;
        uint256 quantity;
    }

    mapping(uint256 item => uint256) public ordered;

    /// @notice Orders items.
    /// @param items number and quantity of each
    function orderMany(Item[] calldata items) external {
        for (uint256 i = 0; i < items.length; i++) ordered[items[i].item] += items[i].quantity;
    }
}

/// @title Notes that anybody reads
contract Notes is Ownable {
    string[] private notes;

    constructor() Ownable(msg.sender) {}

    function add(string calldata text) external onlyOwner {
        notes.push(text);
    }

    /// @notice Reads a note.
    /// @param number its number; 1 is the first
    function readNote(uint256 number) external view returns (string memory text) {
        return notes[number - 1];
    }
}

/// @title Seats of a theatre
contract Theatre {
    error Taken(uint256 week, uint256 seat);

    mapping(uint256 week => mapping(uint256 seat => address)) public holderOf;

    /// @notice Books a seat.
    /// @param week number of the week
    /// @param seat number of the seat
    function bookSeat(uint256 week, uint256 seat) external {
        if (holderOf[week][seat] != address(0)) revert Taken(week, seat);
        holderOf[week][seat] = msg.sender;
    }
}

/// @title Diplomas of a school
contract Diplomas {
    mapping(address student => bool) public hasDiploma;

    /// @notice Issues the diploma of a student.
    function issue(address student) external {
        hasDiploma[student] = true;
    }

    /// @notice Revokes the diploma of a student.
    function revoke(address student) external {
        hasDiploma[student] = false;
    }
}

/// @title A lamp
contract Lamp {
    bool public on;

    /// @notice Toggles the lamp.
    function toggle() external returns (bool isOn) {
        on = !on;
        return on;
    }

    /// @notice Switches the lamp; answers how it was before.
    /// @param isOn true for on, false for off
    function setOn(bool isOn) external returns (bool before) {
        (before, on) = (on, isOn);
    }
}

/// @title A game that is won and lost in turns
contract Game {
    uint256 public games;
    uint256 public additions;
    mapping(uint256 => bool) public isKnown;
    mapping(address => bool) public hasVoted;
    uint256 public yes;

    /// @notice Plays one game; answers whether it is won.
    function play() external returns (bool won) {
        return ++games % 2 == 0;
    }

    /// @notice Adds a number to the collection; answers whether it is new.
    function add(uint256 number) external returns (bool isNew) {
        isNew = !isKnown[number];
        isKnown[number] = true;
        additions++;
    }

    /// @notice Votes for another round; answers whether that decides it.
    function vote() external returns (bool decided) {
        if (!hasVoted[msg.sender]) yes++;
        hasVoted[msg.sender] = true;
        return yes > 2;
    }
}
