// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";

/// @title TrickyBox
/// @notice Checks of the caller that are no plain owner or role, and checks that look like one.
contract TrickyBox {
    /// @notice What an account is.
    enum Rank {
        None,
        Member,
        Chief
    }

    struct Person {
        uint128 points;
        uint64 since;
        Rank rank;
    }

    uint256 public value;
    bool public isListOnly = true;
    address public blocked;
    Ownable public immutable registry;
    IERC20 public immutable token;
    IERC721 public immutable items;
    bytes32 private immutable _secret;
    address[] private _owners;
    mapping(address account => Person person) public people;
    mapping(address account => uint256 bits) public roles;
    mapping(address account => bool isListed) public listed;
    mapping(address account => bool isBanned) public banned;
    mapping(address account => bool isRegistered) public registered;
    mapping(address account => uint256 time) public lastUse;
    mapping(address account => bool isTrusted) private _trusted;

    /// @param owner_ May call what few may.
    /// @param registry_ Whose owner it asks.
    /// @param token_ Of which a caller needs 100.
    /// @param items_ Of which a caller needs one.
    constructor(address owner_, Ownable registry_, IERC20 token_, IERC721 items_) {
        registry = registry_;
        token = token_;
        items = items_;
        blocked = owner_;
        _owners = [address(this), owner_];
        people[owner_] = Person({points: 5, since: 1, rank: Rank.Chief});
        roles[owner_] = 1 << 3;
        listed[owner_] = true;
        _trusted[owner_] = true;
        _secret = keccak256(abi.encodePacked(owner_));
    }

    /// @notice Only one of several owners, in an array.
    function byArray() external {
        bool found;
        for (uint256 i = 0; i < _owners.length; i++) {
            if (_owners[i] == msg.sender) found = true;
        }
        require(found, "no owner");
        value++;
    }

    /// @notice Only the owner of another contract.
    function byRegistry() external {
        require(registry.owner() == msg.sender, "not the registry's owner");
        value++;
    }

    /// @notice Only accounts with a rank that is kept beside points.
    function byRank() external {
        require(people[msg.sender].rank == Rank.Chief, "no chief");
        value++;
    }

    /// @notice Only accounts with a bit.
    function byBit() external {
        require(roles[msg.sender] & (1 << 3) != 0, "no bit");
        value++;
    }

    /// @notice Only listed accounts, while a switch is on.
    function byList() external {
        require(!isListOnly || listed[msg.sender], "not listed");
        value++;
    }

    /// @notice Only the account with a hash.
    function byHash() external {
        require(keccak256(abi.encodePacked(msg.sender)) == _secret, "other hash");
        value++;
    }

    /// @notice Only trusted accounts; the flag is read without a mask, as Vyper does.
    function byUnmaskedFlag() external {
        uint256 flag;
        assembly ("memory-safe") {
            mstore(0x00, caller())
            mstore(0x20, _trusted.slot)
            flag := sload(keccak256(0x00, 0x40))
        }
        require(flag != 0, "not trusted");
        value++;
    }

    /// @notice Whether an account is trusted.
    /// @param account Any.
    /// @return Whether it is.
    function isTrusted(address account) external view returns (bool) {
        return _trusted[account];
    }

    /// @notice All but one account.
    function byAnybodyElse() external {
        require(msg.sender != blocked, "blocked");
        value++;
    }

    /// @notice All accounts that are not banned.
    function byNotBanned() external {
        require(!banned[msg.sender], "banned");
        value++;
    }

    /// @notice Register.
    function register() external {
        registered[msg.sender] = true;
    }

    /// @notice Accounts that have registered, as anybody may.
    function byRegistered() external {
        require(registered[msg.sender], "not registered");
        value++;
    }

    /// @notice Accounts with 100 tokens.
    function byBalance() external {
        require(token.balanceOf(msg.sender) >= 100, "too few tokens");
        value++;
    }

    /// @notice The holder of an item.
    /// @param item Its ID.
    function byItem(uint256 item) external {
        require(items.ownerOf(item) == msg.sender, "not yours");
        value++;
    }

    /// @notice Accounts with points.
    function byPoints() external {
        require(people[msg.sender].points > 0, "no points");
        value++;
    }

    /// @notice Any account, once a day.
    function byCooldown() external {
        require(lastUse[msg.sender] + 1 days <= block.timestamp, "too soon");
        lastUse[msg.sender] = block.timestamp;
    }

    /// @notice Accounts without code.
    function byPerson() external {
        require(msg.sender == tx.origin && msg.sender.code.length == 0, "a contract");
        value++;
    }

    /// @notice Any account for itself, and listed accounts for others.
    /// @param account For whom.
    function forItself(address account) external {
        require(account == msg.sender || listed[msg.sender], "not yours");
        value++;
    }

    /// @notice Nobody, ever.
    function byNobody() external pure {
        revert("disabled");
    }
}
