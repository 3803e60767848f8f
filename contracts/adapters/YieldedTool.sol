// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title A tool that the model can choose and nobody runs
/// @notice The executor reads tools from contracts. This one holds what the model reads: name, description, parameters.
///   The choice goes back to whoever asked, as calldata.
/// @dev Deployed as a clone whose immutable arguments are `abi.encode` of those three.
contract YieldedTool is IERCAgentTool {
    /// @notice The tool is run by whoever gets its calldata.
    error NotRunHere();

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory text) {
        (text,,) = _read();
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory text) {
        (, text,) = _read();
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (InputDescription memory input) {
        (,, input) = _read();
    }

    /// @notice Reverts.
    function run(Input memory, address) external pure returns (int256, string memory) {
        revert NotRunHere();
    }

    function _read() private view returns (string memory, string memory, InputDescription memory) {
        return abi.decode(Clones.fetchCloneArgs(address(this)), (string, string, InputDescription));
    }
}
