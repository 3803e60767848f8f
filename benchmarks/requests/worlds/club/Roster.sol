// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title The members of a club
contract Roster is Ownable {
    error NotSteward(address caller);
    error NotMember(address account);
    error AlreadyMember(address account);
    error UnknownRank(uint8 rank);

    event Admitted(address indexed person);
    event Removed(address indexed member);

    address public steward;
    uint256 public memberCount;
    mapping(address => bool) public isMember;
    mapping(address => bool) public isInvited;
    mapping(address => uint8) public rankOf;
    mapping(address => string) public roleOf;

    constructor() Ownable(msg.sender) {}

    modifier onlySteward() {
        if (msg.sender != steward && msg.sender != owner()) revert NotSteward(msg.sender);
        _;
    }

    modifier onlyMember(address account) {
        if (!isMember[account]) revert NotMember(account);
        _;
    }

    function setSteward(address newSteward) external onlyOwner {
        steward = newSteward;
    }

    /// @notice Makes a person a member of the club, with the lowest rank.
    /// @param person who joins
    function admit(address person) external onlySteward {
        if (isMember[person]) revert AlreadyMember(person);
        isMember[person] = true;
        isInvited[person] = false;
        rankOf[person] = 1;
        memberCount++;
        emit Admitted(person);
    }

    /// @notice Puts people on the invite list.
    /// @param people who may come to the next evening
    function invite(address[] calldata people) external onlySteward {
        for (uint256 i = 0; i < people.length; i++) isInvited[people[i]] = true;
    }

    /// @notice Ends a membership.
    /// @param member who leaves
    function remove(address member) external onlySteward onlyMember(member) {
        isMember[member] = false;
        delete rankOf[member];
        delete roleOf[member];
        memberCount--;
        emit Removed(member);
    }

    /// @notice Sets the rank of a member.
    /// @param rank 1 to 5, 5 is the highest
    function setRank(address member, uint8 rank) external onlySteward onlyMember(member) {
        if (rank == 0 || rank > 5) revert UnknownRank(rank);
        rankOf[member] = rank;
    }

    /// @notice Gives a member a role in the club.
    /// @param role its name, such as "librarian"
    function assignRole(address member, string calldata role) external onlySteward onlyMember(member) {
        roleOf[member] = role;
    }
}
