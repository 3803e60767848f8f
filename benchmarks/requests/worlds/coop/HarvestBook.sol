// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Batches of the harvest, from the field to the buyer
contract HarvestBook is Ownable {
    struct Batch {
        string crop;
        uint256 kilograms;
        uint8 grade;
        bool onHold;
    }

    event Recorded(uint256 indexed batchId, string crop, uint256 kilograms, uint8 grade);
    event Delivered(uint256 indexed batchId, address indexed buyer, uint256 kilograms);
    event TakenBack(uint256 indexed batchId, address indexed buyer, uint256 kilograms);
    event HoldChanged(uint256 indexed batchId, bool onHold);

    address public keeper;
    uint256 public batchCount;
    mapping(uint256 batchId => Batch) public batches;
    mapping(uint256 batchId => mapping(address buyer => uint256)) public deliveredTo;

    modifier onlyKeeper() {
        require(msg.sender == keeper || msg.sender == owner(), "only the keeper");
        _;
    }

    constructor() Ownable(msg.sender) {}

    function setKeeper(address keeper_) external onlyOwner {
        keeper = keeper_;
    }

    /// @notice Records a new batch of the harvest
    /// @param crop what was harvested
    /// @param kilograms its weight
    /// @param grade 1 (best) to 3
    /// @return batchId number of the batch
    function recordBatch(string calldata crop, uint256 kilograms, uint8 grade)
        external
        onlyKeeper
        returns (uint256 batchId)
    {
        require(kilograms > 0, "no weight");
        require(grade > 0 && grade < 4, "no such grade");
        batchId = ++batchCount;
        batches[batchId] = Batch(crop, kilograms, grade, false);
        emit Recorded(batchId, crop, kilograms, grade);
    }

    /// @notice Delivers part of a batch to a buyer
    /// @param batchId number of the batch
    /// @param buyer who receives it
    /// @param kilograms how much
    function deliver(uint256 batchId, address buyer, uint256 kilograms) external onlyKeeper {
        Batch storage batch = batches[batchId];
        require(!batch.onHold, "on hold");
        require(kilograms > 0 && kilograms <= batch.kilograms, "not that much left");
        batch.kilograms -= kilograms;
        deliveredTo[batchId][buyer] += kilograms;
        emit Delivered(batchId, buyer, kilograms);
    }

    /// @notice Takes back goods that a buyer returns
    /// @param batchId number of the batch that they came from
    /// @param buyer who returns them
    /// @param kilograms how much
    function takeBack(uint256 batchId, address buyer, uint256 kilograms) external onlyKeeper {
        require(kilograms > 0 && kilograms <= deliveredTo[batchId][buyer], "not delivered");
        deliveredTo[batchId][buyer] -= kilograms;
        batches[batchId].kilograms += kilograms;
        emit TakenBack(batchId, buyer, kilograms);
    }

    /// @notice Puts a batch on hold: nothing of it is delivered
    /// @param batchId number of the batch
    function hold(uint256 batchId) external onlyKeeper {
        require(batchId > 0 && batchId <= batchCount && !batches[batchId].onHold, "no such batch, or on hold");
        batches[batchId].onHold = true;
        emit HoldChanged(batchId, true);
    }

    /// @notice Releases a batch that is on hold
    /// @param batchId number of the batch
    function release(uint256 batchId) external onlyKeeper {
        require(batches[batchId].onHold, "not on hold");
        batches[batchId].onHold = false;
        emit HoldChanged(batchId, false);
    }

    /// @notice Tells how many kilograms of a batch are left
    /// @param batchId number of the batch
    /// @return kilograms what is left
    function remaining(uint256 batchId) external view returns (uint256 kilograms) {
        require(batchId > 0 && batchId <= batchCount, "no such batch");
        return batches[batchId].kilograms;
    }
}
