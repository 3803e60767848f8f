// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title Whoever may work at the desk
abstract contract Staffed is Ownable {
    mapping(address account => bool) public isStaff;

    modifier onlyStaff() {
        require(isStaff[msg.sender], "not of the staff");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setStaff(address account, bool allowed) external onlyOwner {
        isStaff[account] = allowed;
    }
}

/// @title Songs that are played next
contract SongQueue is Staffed {
    struct Song {
        string title;
        bool isDropped;
    }

    event Queued(uint256 indexed number, string title);
    event Dropped(uint256 indexed number);

    Song[] private songs;

    /// @notice Puts songs at the end of the queue
    function queueSongs(string[] calldata titles) external onlyStaff {
        for (uint256 i = 0; i < titles.length; i++) {
            songs.push(Song(titles[i], false));
            emit Queued(songs.length, titles[i]);
        }
    }

    /// @notice Takes songs out of the queue
    function dropSongs(uint256[] calldata numbers) external onlyStaff {
        for (uint256 i = 0; i < numbers.length; i++) {
            Song storage song = _find(numbers[i]);
            song.isDropped = true;
            emit Dropped(numbers[i]);
        }
    }

    /// @notice Returns the title of a song in the queue
    function songAt(uint256 number) external view returns (string memory title) {
        return _find(number).title;
    }

    function _find(uint256 number) private view returns (Song storage song) {
        require(number > 0 && number <= songs.length, "no such song");
        song = songs[number - 1];
        require(!song.isDropped, "song was dropped");
    }
}

/// @title The transmitter
contract Transmitter is Staffed {
    event PowerSet(uint256 watts);
    event TrebleSet(int256 decibels);
    event StereoSet(bool on);

    uint256 public power = 400;
    int256 public treble;
    bool public stereo = true;

    function setPower(uint256 watts) external onlyStaff {
        require(watts >= 50 && watts <= 2000, "power out of range");
        power = watts;
        emit PowerSet(watts);
    }

    function setTreble(int256 decibels) external onlyStaff {
        require(decibels >= -12 && decibels <= 12, "treble out of range");
        treble = decibels;
        emit TrebleSet(decibels);
    }

    function setStereo(bool on) external onlyStaff {
        stereo = on;
        emit StereoSet(on);
    }
}

/// @title News ticker and prizes for listeners
contract ListenerDesk is Staffed {
    event Headline(uint256 indexed number, string text);
    event TicketsAwarded(address indexed winner, uint256 tickets);

    string[] public headlines;
    uint256 public ticketsLeft;
    mapping(address winner => uint256) public ticketsOf;

    constructor(uint256 tickets) {
        ticketsLeft = tickets;
    }

    function publish(string calldata text) external onlyStaff {
        require(bytes(text).length > 0, "no text");
        headlines.push(text);
        emit Headline(headlines.length, text);
    }

    function award(address winner, uint256 tickets) external onlyStaff {
        require(tickets > 0 && tickets <= ticketsLeft, "not so many tickets");
        ticketsLeft -= tickets;
        ticketsOf[winner] += tickets;
        emit TicketsAwarded(winner, tickets);
    }
}

/// @title Returns a song's title as it is
contract TitleText is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return abi.decode(result, (string));
    }
}
