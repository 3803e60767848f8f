// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERCAgentClient} from "../interfaces/IERCAgentClient.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {ToolPin} from "./ToolPin.sol";

/// @title A version-2 tool that runs another one as long as its code and its metadata are what they were
/// @notice Give it to an agent in place of the tool. The tool sees it as `msg.sender`.
contract PinnedTool is ToolPin, IERCAgentTool, IERCAgentClient, ERC165 {
    /// @notice Pins a tool as it is now.
    /// @param _tool a tool or an agent of version 2
    /// @param _agent the only address that may run it; zero: everybody
    constructor(address _tool, address _agent) ToolPin(_tool, _agent) {}

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory) {
        return pinnedName;
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory) {
        return pinnedDescription;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (IERCAgentTool.InputDescription memory) {
        return pinnedInputDescription;
    }

    /// @notice Runs the tool, or reverts with `CodeChanged` or `MetadataChanged`.
    function run(IERCAgentTool.Input memory input, address resultHandler)
        external
        returns (int256 runId, string memory result)
    {
        _requireUnchanged();
        bytes memory output = _relay(abi.encodeCall(IERCAgentTool.run, (input, _handler(resultHandler))), resultHandler);
        return abi.decode(output, (int256, string));
    }

    /// @inheritdoc IERCAgentClient
    function handleAgentResult(int256 runId, string memory result) external {
        address handler = _takeHandler(uint256(runId));
        IERCAgentClient(handler).handleAgentResult(runId, result);
    }

    /// @notice Tells which interfaces this tool has.
    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(IERCAgentTool).interfaceId || interfaceId == type(IERCAgentClient).interfaceId
            || super.supportsInterface(interfaceId);
    }
}
