// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title What happens around the aircraft on the ground: stands, crews, catering, hangar
contract RampOffice is Ownable {
    struct Aircraft {
        bool isListed;
        uint256 stand;
        uint256 litres;
        string[] defects;
    }

    error NotRampStaff(address caller);
    error UnknownAircraft(string aircraft);
    error NoSuchStand(uint256 stand);
    error StandTaken(uint256 stand);
    error TemperatureOutOfRange(int256 celsius);
    error HangarUnchanged();

    uint256 public constant STANDS = 10;

    mapping(address => bool) public isStaff;
    mapping(bytes32 => Aircraft) private fleet;
    mapping(uint256 stand => bytes32) public onStand;
    mapping(uint256 flightNumber => address[]) public crewOf;
    string[] public cateringList;
    uint256[] public deicingQueue;
    int256 public hangarTemperature = 12;
    bool public isHangarLocked;

    constructor() Ownable(msg.sender) {}

    modifier onlyStaff() {
        if (!isStaff[msg.sender] && msg.sender != owner()) revert NotRampStaff(msg.sender);
        _;
    }

    function setStaff(address account, bool allowed) external onlyOwner {
        isStaff[account] = allowed;
    }

    function listAircraft(string calldata aircraft, uint256 stand, uint256 litres) external onlyOwner {
        Aircraft storage listed = fleet[_key(aircraft)];
        listed.isListed = true;
        listed.stand = stand;
        listed.litres = litres;
        onStand[stand] = _key(aircraft);
    }

    function tow(string calldata aircraft, uint256 stand) external onlyStaff {
        Aircraft storage towed = _listed(aircraft);
        _requireStand(stand);
        if (onStand[stand] != 0) revert StandTaken(stand);
        delete onStand[towed.stand];
        towed.stand = stand;
        onStand[stand] = _key(aircraft);
    }

    function reportDefect(string calldata aircraft, string calldata defect) external onlyStaff {
        _listed(aircraft).defects.push(defect);
    }

    function assignCrew(uint256 flightNumber, address[] calldata crew) external onlyStaff {
        crewOf[flightNumber] = crew;
    }

    function orderCatering(string[] calldata items) external onlyStaff {
        for (uint256 i = 0; i < items.length; i++) cateringList.push(items[i]);
    }

    function deice(uint256[] calldata stands) external onlyStaff {
        for (uint256 i = 0; i < stands.length; i++) {
            _requireStand(stands[i]);
            deicingQueue.push(stands[i]);
        }
    }

    function setHangarTemperature(int256 celsius) external onlyStaff {
        if (celsius < -5 || celsius > 22) revert TemperatureOutOfRange(celsius);
        hangarTemperature = celsius;
    }

    function setHangarLocked(bool locked) external onlyStaff {
        if (locked == isHangarLocked) revert HangarUnchanged();
        isHangarLocked = locked;
    }

    function fuelOnBoard(string calldata aircraft) external view returns (uint256) {
        return _listed(aircraft).litres;
    }

    function _requireStand(uint256 stand) private pure {
        if (stand == 0 || stand > STANDS) revert NoSuchStand(stand);
    }

    function _listed(string calldata aircraft) private view returns (Aircraft storage listed) {
        listed = fleet[_key(aircraft)];
        if (!listed.isListed) revert UnknownAircraft(aircraft);
    }

    // Capital letters do not matter.
    function _key(string calldata aircraft) private pure returns (bytes32) {
        bytes memory text = bytes(aircraft);
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] >= 0x41 && text[i] <= 0x5a) text[i] = bytes1(uint8(text[i]) + 32);
        }
        return keccak256(text);
    }
}

/// @title Writes how much fuel there is
contract LitresText is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat(Strings.toString(abi.decode(result, (uint256))), " litres");
    }
}
