// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title A tool without parameters whose action is one call
abstract contract PlainLoanTool is IERCAgentTool {
    string private toolName;

    constructor(string memory _name) {
        toolName = _name;
    }

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory) {
        return toolName;
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory) {
        return toolName;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @inheritdoc IERCAgentTool
    function run(Input memory, address) external returns (int256 runId, string memory result) {
        _act();
        return (-1, "Done");
    }

    function _act() internal virtual;
}
