// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

contract Catalogue is Ownable {
    error NotEditor();
    error Locked(uint256 tokenId);

    address public editor;
    mapping(uint256 => string) public titleOf;
    mapping(uint256 => string[]) private tags;
    mapping(uint256 => bytes32) public certificateOf;
    mapping(uint256 => bool) public isLocked;

    constructor() Ownable(msg.sender) {}

    modifier onlyEditor() {
        if (msg.sender != editor && msg.sender != owner()) revert NotEditor();
        _;
    }

    modifier unlocked(uint256 tokenId) {
        if (isLocked[tokenId]) revert Locked(tokenId);
        _;
    }

    function setEditor(address newEditor) external onlyOwner {
        editor = newEditor;
    }

    function setTitle(uint256 tokenId, string calldata title) external onlyEditor unlocked(tokenId) {
        titleOf[tokenId] = title;
    }

    function setTags(uint256 tokenId, string[] memory newTags) external onlyEditor unlocked(tokenId) {
        tags[tokenId] = newTags;
    }

    function certify(uint256 tokenId, bytes32 documentHash) external onlyEditor unlocked(tokenId) {
        certificateOf[tokenId] = documentHash;
    }

    function setLocked(uint256 tokenId, bool locked) external onlyEditor {
        isLocked[tokenId] = locked;
    }

    function tagsOf(uint256 tokenId) external view returns (string[] memory) {
        return tags[tokenId];
    }
}
