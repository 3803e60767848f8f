// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Appointments of the current month
contract Appointments is Ownable {
    enum Status {
        None,
        Booked,
        Arrived,
        Cancelled
    }

    struct Appointment {
        address patient;
        uint8 day;
        uint8 hour;
        Status status;
        string note;
    }

    error NotTheDesk(address caller);
    error OutOfHours(uint8 day, uint8 hour);
    error HourTaken(uint8 day, uint8 hour);
    error NotBooked(uint256 appointmentId);

    event Booked(uint256 indexed appointmentId, address indexed patient, uint8 day, uint8 hour);
    event Rescheduled(uint256 indexed appointmentId, uint8 day, uint8 hour);
    event Cancelled(uint256 indexed appointmentId);
    event CheckedIn(uint256 indexed appointmentId);

    uint8 public constant OPENS_AT = 8;
    uint8 public constant CLOSES_AT = 18;

    address public desk;
    uint256 public appointmentCount;
    mapping(uint256 appointmentId => Appointment) public appointments;
    mapping(uint8 day => mapping(uint8 hour => uint256)) private bookings;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (msg.sender != desk && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address newDesk) external onlyOwner {
        desk = newDesk;
    }

    /// @notice Books an appointment of one hour.
    /// @param patient who comes
    /// @param day day of the month, 1 to 31
    /// @param hour when it begins, 8 to 17
    /// @return appointmentId its number
    function book(address patient, uint8 day, uint8 hour) external onlyDesk returns (uint256 appointmentId) {
        appointmentId = ++appointmentCount;
        _take(appointmentId, day, hour);
        appointments[appointmentId] = Appointment(patient, day, hour, Status.Booked, "");
        emit Booked(appointmentId, patient, day, hour);
    }

    /// @notice Moves an appointment to another day or hour.
    /// @param appointmentId number of the appointment
    /// @param day day of the month, 1 to 31
    /// @param hour when it begins, 8 to 17
    function reschedule(uint256 appointmentId, uint8 day, uint8 hour) external onlyDesk {
        Appointment storage appointment = _booked(appointmentId);
        delete bookings[appointment.day][appointment.hour];
        _take(appointmentId, day, hour);
        (appointment.day, appointment.hour) = (day, hour);
        emit Rescheduled(appointmentId, day, hour);
    }

    /// @notice Cancels an appointment.
    /// @param appointmentId number of the appointment
    function cancel(uint256 appointmentId) external onlyDesk {
        Appointment storage appointment = _booked(appointmentId);
        delete bookings[appointment.day][appointment.hour];
        appointment.status = Status.Cancelled;
        emit Cancelled(appointmentId);
    }

    /// @notice Marks the patient of an appointment as arrived.
    /// @param appointmentId number of the appointment
    function checkIn(uint256 appointmentId) external onlyDesk {
        _booked(appointmentId).status = Status.Arrived;
        emit CheckedIn(appointmentId);
    }

    /// @notice Sets the note of an appointment.
    /// @param appointmentId number of the appointment
    /// @param note what the doctor should know
    function setNote(uint256 appointmentId, string calldata note) external onlyDesk {
        _booked(appointmentId).note = note;
    }

    /// @notice Counts the hours of a day that are still free.
    /// @param day day of the month, 1 to 31
    function freeHours(uint8 day) external view returns (uint256 count) {
        for (uint8 hour = OPENS_AT; hour < CLOSES_AT; hour++) {
            if (bookings[day][hour] == 0) count++;
        }
    }

    function _take(uint256 appointmentId, uint8 day, uint8 hour) private {
        if (day == 0 || day > 31 || hour < OPENS_AT || hour >= CLOSES_AT) revert OutOfHours(day, hour);
        if (bookings[day][hour] != 0) revert HourTaken(day, hour);
        bookings[day][hour] = appointmentId;
    }

    function _booked(uint256 appointmentId) private view returns (Appointment storage appointment) {
        appointment = appointments[appointmentId];
        if (appointment.status != Status.Booked) revert NotBooked(appointmentId);
    }
}

/// @title People who wait for an appointment
contract WaitingList is Ownable {
    error NotTheDesk(address caller);
    error NoSuchPriority(uint8 priority);
    error AlreadyWaiting(address patient);
    error NotWaiting(address patient);

    address public desk;
    mapping(address patient => uint8) public priorityOf;

    constructor() Ownable(msg.sender) {}

    modifier onlyDesk() {
        if (msg.sender != desk && msg.sender != owner()) revert NotTheDesk(msg.sender);
        _;
    }

    function setDesk(address newDesk) external onlyOwner {
        desk = newDesk;
    }

    /// @notice Puts a patient on the waiting list.
    /// @param patient who waits
    /// @param priority 1 = urgent, 2 = soon, 3 = routine
    function addToList(address patient, uint8 priority) external onlyDesk {
        if (priority == 0 || priority > 3) revert NoSuchPriority(priority);
        if (priorityOf[patient] != 0) revert AlreadyWaiting(patient);
        priorityOf[patient] = priority;
    }

    /// @notice Takes a patient off the waiting list.
    /// @param patient who waits no longer
    function removeFromList(address patient) external onlyDesk {
        if (priorityOf[patient] == 0) revert NotWaiting(patient);
        delete priorityOf[patient];
    }
}
