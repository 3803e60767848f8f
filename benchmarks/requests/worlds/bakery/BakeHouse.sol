// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Shifts of one week
contract Rota is Ownable {
    struct Shift {
        uint8 fromHour;
        uint8 toHour;
    }

    error NotTheManager(address caller);
    error NoSuchDay(uint8 weekday);
    error NoSuchHours(uint8 fromHour, uint8 toHour);
    error HasShift(address employee, uint8 weekday);
    error NoShift(address employee, uint8 weekday);

    address public manager;
    mapping(address employee => mapping(uint8 weekday => Shift)) public shifts;

    constructor() Ownable(msg.sender) {}

    modifier onlyManager() {
        if (msg.sender != manager && msg.sender != owner()) revert NotTheManager(msg.sender);
        _;
    }

    function setManager(address account) external onlyOwner {
        manager = account;
    }

    /// @notice Puts an employee on the rota for a day.
    /// @param employee who works
    /// @param weekday 0 = Monday, 1 = Tuesday, 2 = Wednesday, 3 = Thursday, 4 = Friday, 5 = Saturday, 6 = Sunday
    /// @param fromHour when the shift begins, 3 to 20
    /// @param toHour when it ends, 4 to 21
    function assignShift(address employee, uint8 weekday, uint8 fromHour, uint8 toHour) external onlyManager {
        if (weekday > 6) revert NoSuchDay(weekday);
        if (fromHour < 3 || toHour > 21 || fromHour >= toHour) revert NoSuchHours(fromHour, toHour);
        if (shifts[employee][weekday].toHour != 0) revert HasShift(employee, weekday);
        shifts[employee][weekday] = Shift(fromHour, toHour);
    }

    /// @notice Cancels the shift of an employee on a day.
    /// @param employee whose shift
    /// @param weekday 0 = Monday, 1 = Tuesday, 2 = Wednesday, 3 = Thursday, 4 = Friday, 5 = Saturday, 6 = Sunday
    function cancelShift(address employee, uint8 weekday) external onlyManager {
        if (shifts[employee][weekday].toHour == 0) revert NoShift(employee, weekday);
        delete shifts[employee][weekday];
    }

    /// @notice Tells how many hours an employee works this week.
    /// @param employee which employee
    /// @return numberOfHours sum of the hours of all shifts
    function weeklyHours(address employee) external view returns (uint256 numberOfHours) {
        for (uint8 day = 0; day < 7; day++) {
            numberOfHours += shifts[employee][day].toHour - shifts[employee][day].fromHour;
        }
    }
}

contract OvenPanel is Ownable {
    uint8 public constant OVENS = 5;
    address public operator;
    mapping(uint8 => uint16) public temperatureOf;

    constructor() Ownable(msg.sender) {}

    modifier onlyOperator() {
        require(msg.sender == operator || msg.sender == owner(), "not the operator");
        _;
    }

    function setOperator(address account) external onlyOwner {
        operator = account;
    }

    function setTemperature(uint8 oven, uint16 celsius) external onlyOperator {
        require(oven > 0 && oven <= OVENS, "no such oven");
        require(celsius >= 80 && celsius <= 300, "80 to 300 degrees");
        temperatureOf[oven] = celsius;
    }

    function switchOff(uint8 oven) external onlyOperator {
        require(temperatureOf[oven] != 0, "oven is off");
        temperatureOf[oven] = 0;
    }
}

/// @title Stamp cards: ten stamps are a free loaf
contract LoyaltyCards is Ownable {
    error NotAShop(address caller);
    error WrongCount(uint256 count);
    error CardNotFull(address customer, uint256 stamps);

    uint256 public constant FULL_CARD = 10;
    mapping(address => bool) public isShop;
    mapping(address customer => uint256) private cards;
    mapping(address customer => uint256) public loavesRedeemed;

    constructor() Ownable(msg.sender) {}

    modifier onlyShop() {
        if (!isShop[msg.sender] && msg.sender != owner()) revert NotAShop(msg.sender);
        _;
    }

    function setShop(address account, bool allowed) external onlyOwner {
        isShop[account] = allowed;
    }

    /// @notice Puts stamps on a customer's loyalty card.
    /// @param customer whose card it is
    /// @param count how many stamps, 1 to 10
    function giveStamps(address customer, uint256 count) external onlyShop {
        if (count == 0 || count > FULL_CARD) revert WrongCount(count);
        cards[customer] += count;
    }

    /// @notice Redeems ten stamps of a customer for a free loaf.
    /// @param customer whose card it is
    function redeemLoaf(address customer) external onlyShop {
        if (cards[customer] < FULL_CARD) revert CardNotFull(customer, cards[customer]);
        cards[customer] -= FULL_CARD;
        loavesRedeemed[customer]++;
    }

    /// @notice Tells how many stamps are on a customer's card.
    /// @param customer whose card it is
    function stampsOf(address customer) external view returns (uint256 stamps) {
        return cards[customer];
    }
}
