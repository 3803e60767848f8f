// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title A diary
contract Diary {
    error NoSuchPage(uint256 page);

    string[] private pages;

    /// @notice Writes a text on a new page.
    function write(string calldata entry) external {
        pages.push(entry);
    }

    /// @notice Reads a page.
    /// @param page 1 is the first one
    function read(uint256 page) external view returns (string memory) {
        if (page == 0 || page > pages.length) revert NoSuchPage(page);
        return pages[page - 1];
    }
}

/// @title A list of things to buy
contract ShoppingList {
    error NoSuchItem(uint256 number);

    struct Item {
        string text;
        bool isDone;
    }

    Item[] private items;

    /// @notice Adds things to buy.
    function add(string[] calldata texts) external {
        for (uint256 i = 0; i < texts.length; i++) items.push(Item(texts[i], false));
    }

    /// @notice Crosses things off by their numbers.
    function crossOff(uint256[] calldata numbers) external {
        for (uint256 i = 0; i < numbers.length; i++) {
            uint256 number = numbers[i];
            if (number == 0 || number > items.length || items[number - 1].isDone) revert NoSuchItem(number);
            items[number - 1].isDone = true;
        }
    }

    /// @notice Returns what is still to buy, such as `1 milk, 3 eggs`.
    function show() external view returns (string memory text) {
        for (uint256 i = 0; i < items.length; i++) {
            if (items[i].isDone) continue;
            string memory separator = bytes(text).length == 0 ? "" : ", ";
            text = string.concat(text, separator, Strings.toString(i + 1), " ", items[i].text);
        }
    }
}

/// @title Appointments of a month
contract MonthPlanner {
    error OutOfRange();
    error HourTaken(uint256 day, uint256 hour);

    struct Appointment {
        string title;
        uint256 durationMinutes;
    }

    mapping(uint256 day => mapping(uint256 hour => Appointment)) private appointments;

    /// @notice Enters an appointment.
    function plan(string calldata title, uint256 day, uint256 hour, uint256 durationMinutes) external {
        if (day == 0 || day > 31 || hour > 23 || durationMinutes == 0) revert OutOfRange();
        Appointment storage place = appointments[day][hour];
        if (place.durationMinutes != 0) revert HourTaken(day, hour);
        (place.title, place.durationMinutes) = (title, durationMinutes);
    }
}

/// @title Returns a text as it is
contract TextConverter is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return abi.decode(result, (string));
    }
}
