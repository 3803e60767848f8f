// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

abstract contract WardenOnly is Ownable {
    address public warden;

    modifier onlyWarden() {
        require(msg.sender == warden || msg.sender == owner(), "not the warden");
        _;
    }

    function setWarden(address account) external onlyOwner {
        warden = account;
    }
}

contract AnimalHomes is WardenOnly {
    struct Stay {
        address carer;
        uint256 nights;
    }

    uint256 public constant ANIMALS = 60;

    mapping(uint256 => Stay) public fosterStays;
    mapping(uint256 => address) public adopterOf;

    event Fostered(uint256 indexed animalId, address indexed carer, uint256 nights);
    event Adopted(uint256 indexed animalId, address indexed adopter);
    event CameBack(uint256 indexed animalId);

    constructor() Ownable(msg.sender) {}

    modifier atShelter(uint256 animalId) {
        require(animalId > 0 && animalId <= ANIMALS, "no such animal");
        require(adopterOf[animalId] == address(0), "has a home");
        require(fosterStays[animalId].carer == address(0), "in foster care");
        _;
    }

    function placeInFoster(uint256 animalId, address carer, uint256 nights) external onlyWarden atShelter(animalId) {
        require(nights > 0 && nights <= 90, "1 to 90 nights");
        fosterStays[animalId] = Stay(carer, nights);
        emit Fostered(animalId, carer, nights);
    }

    function handOver(uint256 animalId, address adopter) external onlyWarden atShelter(animalId) {
        require(adopter != address(0), "no adopter");
        adopterOf[animalId] = adopter;
        emit Adopted(animalId, adopter);
    }

    function takeBack(uint256 animalId) external onlyWarden {
        require(fosterStays[animalId].carer != address(0), "not in foster care");
        delete fosterStays[animalId];
        emit CameBack(animalId);
    }
}

/// @title Who lives in which kennel
contract Kennels is WardenOnly {
    error NoSuchKennel(uint256 kennel);
    error KennelTaken(uint256 kennel, uint256 animalId);

    event Moved(uint256 indexed animalId, uint256 kennel);

    uint256 public constant KENNELS = 24;

    mapping(uint256 kennel => uint256 animalId) public animalIn;
    mapping(uint256 animalId => uint256 kennel) public kennelOf;

    constructor() Ownable(msg.sender) {}

    /// @notice Moves an animal into a free kennel; its old one becomes free.
    /// @param animalId number of the animal
    /// @param kennel number of the kennel, 1 to 24
    function moveAnimal(uint256 animalId, uint256 kennel) external onlyWarden {
        if (kennel == 0 || kennel > KENNELS) revert NoSuchKennel(kennel);
        if (animalIn[kennel] != 0) revert KennelTaken(kennel, animalIn[kennel]);
        delete animalIn[kennelOf[animalId]];
        animalIn[kennel] = animalId;
        kennelOf[animalId] = kennel;
        emit Moved(animalId, kennel);
    }
}

/// @title Health records of the animals
contract HealthRecords is WardenOnly {
    error ImplausibleWeight(uint256 grams);
    error NeverWeighed(uint256 animalId);
    error UnknownVaccine(uint8 vaccine);

    event Weighed(uint256 indexed animalId, uint256 grams);
    event Vaccinated(uint256 indexed animalId, uint8 vaccine);

    mapping(uint256 animalId => uint256 grams) private weights;
    mapping(uint256 animalId => mapping(uint8 vaccine => uint256 doses)) public doses;

    constructor() Ownable(msg.sender) {}

    /// @notice Records how much an animal weighs.
    /// @param animalId number of the animal
    /// @param grams its weight in grams
    function recordWeight(uint256 animalId, uint256 grams) external onlyWarden {
        if (grams < 20 || grams > 120000) revert ImplausibleWeight(grams);
        weights[animalId] = grams;
        emit Weighed(animalId, grams);
    }

    /// @notice Records that an animal was vaccinated.
    /// @param animalId number of the animal
    /// @param vaccine against what: 0 = rabies, 1 = distemper, 2 = parvovirus
    function recordVaccination(uint256 animalId, uint8 vaccine) external onlyWarden {
        if (vaccine > 2) revert UnknownVaccine(vaccine);
        doses[animalId][vaccine]++;
        emit Vaccinated(animalId, vaccine);
    }

    /// @notice Tells the last recorded weight of an animal, in grams.
    /// @param animalId number of the animal
    function weightOf(uint256 animalId) external view returns (uint256 grams) {
        grams = weights[animalId];
        if (grams == 0) revert NeverWeighed(animalId);
    }
}

contract WalkLog is WardenOnly {
    mapping(address => uint256) public minutesOf;
    mapping(uint256 => uint256) public walksOf;

    event Walked(uint256 indexed animalId, address indexed walker, uint256 minutesOut);

    constructor() Ownable(msg.sender) {}

    function logWalk(uint256 animalId, address walker, uint256 minutesOut) external onlyWarden {
        require(minutesOut >= 5 && minutesOut <= 240, "5 to 240 minutes");
        minutesOf[walker] += minutesOut;
        walksOf[animalId]++;
        emit Walked(animalId, walker, minutesOut);
    }
}
