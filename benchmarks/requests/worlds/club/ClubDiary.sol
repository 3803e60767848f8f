// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Notes, tags, motto and announcements of the club
contract ClubDiary is Ownable {
    error NotWriter(address caller);

    string public motto;
    string[] public notes;
    string[] public tags;
    string public announcement;
    mapping(address => bool) public isWriter;

    constructor(string memory _motto) Ownable(msg.sender) {
        motto = _motto;
    }

    modifier onlyWriter() {
        if (!isWriter[msg.sender]) revert NotWriter(msg.sender);
        _;
    }

    function setWriter(address writer, bool allowed) external onlyOwner {
        isWriter[writer] = allowed;
    }

    function addNote(string calldata note) external onlyWriter {
        notes.push(note);
    }

    function setMotto(string calldata newMotto) external onlyWriter {
        motto = newMotto;
    }

    function setTags(string[] memory newTags) external onlyWriter {
        tags = newTags;
    }

    function announce(string calldata text) external onlyWriter {
        announcement = text;
    }
}
