// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

contract Visitors is Ownable {
    error NotHost();
    error InvalidStars(uint256 stars);
    error OutOfRange(int256 celsius);

    struct Review {
        uint256 artwork;
        uint256 stars;
    }

    string[] public messages;
    Review[] public reviews;
    mapping(address => bool) public isGuest;
    bool public lightsOn;
    int256 public storageTemperature = 18;
    mapping(address => bool) public isHost;

    constructor() Ownable(msg.sender) {}

    modifier onlyHost() {
        if (!isHost[msg.sender]) revert NotHost();
        _;
    }

    function setHost(address host, bool allowed) external onlyOwner {
        isHost[host] = allowed;
    }

    function sign(string calldata message) external onlyHost {
        messages.push(message);
    }

    function rate(uint256 artwork, uint256 stars) external onlyHost {
        if (stars == 0 || stars > 5) revert InvalidStars(stars);
        reviews.push(Review(artwork, stars));
    }

    function addGuests(address[] calldata guests) external onlyHost {
        for (uint256 i = 0; i < guests.length; i++) isGuest[guests[i]] = true;
    }

    function setLights(bool on) external onlyHost {
        lightsOn = on;
    }

    function setTemperature(int256 celsius) external onlyHost {
        if (celsius < -20 || celsius > 25) revert OutOfRange(celsius);
        storageTemperature = celsius;
    }
}
