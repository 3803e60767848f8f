// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title What the association's clerks may change
abstract contract ClerkedBook is Ownable {
    error NotAClerk(address caller);

    mapping(address => bool) public isClerk;

    constructor() Ownable(msg.sender) {}

    modifier onlyClerk() {
        if (!isClerk[msg.sender] && msg.sender != owner()) revert NotAClerk(msg.sender);
        _;
    }

    function setClerk(address clerk, bool allowed) external onlyOwner {
        isClerk[clerk] = allowed;
    }
}

/// @title The shed: garden tools that members borrow
contract GardenShed is ClerkedBook {
    struct Implement {
        bool isInShed;
        address borrower;
        uint256 daysLeft;
    }

    error UnknownTool(string tool);
    error OutOnLoan(string tool);
    error NotOut(string tool);
    error BadTerm(uint256 numberOfDays);

    event Lent(string tool, address indexed member, uint256 numberOfDays);
    event Returned(string tool);

    uint256 public constant LONGEST_LOAN = 14;
    mapping(bytes32 => Implement) private implements_;

    function stock(string[] calldata tools) external onlyOwner {
        for (uint256 i = 0; i < tools.length; i++) implements_[_key(tools[i])].isInShed = true;
    }

    function lend(string calldata tool, address member, uint256 numberOfDays) external onlyClerk {
        Implement storage found = _known(tool);
        if (found.borrower != address(0)) revert OutOnLoan(tool);
        if (numberOfDays == 0 || numberOfDays > LONGEST_LOAN) revert BadTerm(numberOfDays);
        found.borrower = member;
        found.daysLeft = numberOfDays;
        emit Lent(tool, member, numberOfDays);
    }

    function takeBack(string calldata tool) external onlyClerk {
        Implement storage found = _known(tool);
        if (found.borrower == address(0)) revert NotOut(tool);
        found.borrower = address(0);
        found.daysLeft = 0;
        emit Returned(tool);
    }

    function _known(string calldata tool) private view returns (Implement storage found) {
        found = implements_[_key(tool)];
        if (!found.isInShed) revert UnknownTool(tool);
    }

    // Capital letters do not matter.
    function _key(string calldata tool) private pure returns (bytes32) {
        bytes memory text = bytes(tool);
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] >= 0x41 && text[i] <= 0x5a) text[i] = bytes1(uint8(text[i]) + 32);
        }
        return keccak256(text);
    }
}

/// @title Work days, and the hours that members have worked
contract WorkLog is ClerkedBook {
    struct WorkDay {
        string task;
        uint256 day;
        uint256 numberOfHours;
    }

    error BadDay(uint256 day);
    error BadHours(uint256 numberOfHours);

    event HoursLogged(address indexed member, uint256 numberOfHours);
    event WorkDayPlanned(string task, uint256 day, uint256 numberOfHours);

    mapping(address => uint256) private worked;
    WorkDay[] public workDays;

    function logHours(address[] calldata members, uint256 numberOfHours) external onlyClerk {
        if (numberOfHours == 0 || numberOfHours > 12) revert BadHours(numberOfHours);
        for (uint256 i = 0; i < members.length; i++) {
            worked[members[i]] += numberOfHours;
            emit HoursLogged(members[i], numberOfHours);
        }
    }

    function planWorkDay(string calldata task, uint256 day, uint256 numberOfHours) external onlyClerk {
        if (day == 0 || day > 31) revert BadDay(day);
        if (numberOfHours == 0 || numberOfHours > 12) revert BadHours(numberOfHours);
        workDays.push(WorkDay(task, day, numberOfHours));
        emit WorkDayPlanned(task, day, numberOfHours);
    }

    function hoursOf(address member) external view returns (uint256) {
        return worked[member];
    }
}

/// @title Who waits for a plot
contract PlotQueue is ClerkedBook {
    error AlreadyWaiting(address applicant);
    error NotWaiting(address applicant);

    event Joined(address indexed applicant);
    event Left(address indexed applicant);

    address[] private queue;

    function addApplicant(address applicant) external onlyClerk {
        if (_place(applicant) != 0) revert AlreadyWaiting(applicant);
        queue.push(applicant);
        emit Joined(applicant);
    }

    function removeApplicant(address applicant) external onlyClerk {
        uint256 place = _place(applicant);
        if (place == 0) revert NotWaiting(applicant);
        for (uint256 i = place; i < queue.length; i++) queue[i - 1] = queue[i];
        queue.pop();
        emit Left(applicant);
    }

    function placeOf(address applicant) external view returns (uint256 place) {
        place = _place(applicant);
        if (place == 0) revert NotWaiting(applicant);
    }

    function _place(address applicant) private view returns (uint256) {
        for (uint256 i = 0; i < queue.length; i++) {
            if (queue[i] == applicant) return i + 1;
        }
        return 0;
    }
}

/// @title Writes a number with words around it
contract NumberPhrase is ToolResultConverter {
    string private before;
    string private behind;

    constructor(string memory before_, string memory behind_) {
        before = before_;
        behind = behind_;
    }

    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external view returns (string memory) {
        return string.concat(before, Strings.toString(abi.decode(result, (uint256))), behind);
    }
}
