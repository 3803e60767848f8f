// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title MutableTool
/// @notice A tool whose name its owner sets, and whose description anybody does.
contract MutableTool is IERCAgentTool, Ownable {
    string private _name = "Clock";
    string private _description = "Tells the time.";
    uint256 public visits;

    /// @param owner_ Owns it.
    constructor(address owner_) Ownable(owner_) {}

    /// @notice Set the name.
    /// @param name_ A name.
    function setName(string calldata name_) external onlyOwner {
        _name = name_;
    }

    /// @notice Set the description.
    /// @param description_ A description.
    function setDescription(string calldata description_) external {
        _description = description_;
    }

    /// @notice Count a visit.
    function visit() external {
        visits += 1;
    }

    /// @inheritdoc IERCAgentTool
    function run(Input memory, address) external view override returns (int256 runId, string memory result) {
        return (-1, block.timestamp % 2 == 0 ? "even" : "odd");
    }

    /// @inheritdoc IERCAgentTool
    function name() external view override returns (string memory) {
        return _name;
    }

    /// @inheritdoc IERCAgentTool
    function description() external view override returns (string memory) {
        return _description;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure override returns (InputDescription memory described) {
        return described;
    }
}
