// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

contract Vaults is Ownable {
    struct Vault {
        int256 measuredDegrees;
        uint256 measuredHumidity;
        int256 degrees;
        uint256 humidity;
        uint256 openMinutes;
    }

    uint256 public constant COUNT = 6;
    mapping(uint256 => Vault) private vaults;

    modifier exists(uint256 vault) {
        require(vault > 0 && vault <= COUNT, "no such vault");
        _;
    }

    constructor(address owner) Ownable(owner) {}

    function setMeasurements(uint256 vault, int256 degrees, uint256 humidity) external onlyOwner exists(vault) {
        vaults[vault].measuredDegrees = degrees;
        vaults[vault].measuredHumidity = humidity;
    }

    function temperatureOf(uint256 vault) external view exists(vault) returns (int256) {
        return vaults[vault].measuredDegrees;
    }

    function humidityOf(uint256 vault) external view exists(vault) returns (uint256) {
        return vaults[vault].measuredHumidity;
    }

    function setTemperature(uint256 vault, int256 degrees) external exists(vault) {
        require(degrees >= -30 && degrees <= 25, "out of range");
        vaults[vault].degrees = degrees;
    }

    function setHumidity(uint256 vault, uint256 percent) external exists(vault) {
        require(percent <= 100, "out of range");
        vaults[vault].humidity = percent;
    }

    function openDoor(uint256 vault, uint256 durationMinutes) external exists(vault) {
        require(durationMinutes > 0 && durationMinutes <= 60, "too long");
        vaults[vault].openMinutes = durationMinutes;
    }

    function lockDoor(uint256 vault) external exists(vault) {
        vaults[vault].openMinutes = 0;
    }
}
