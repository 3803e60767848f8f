// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IERCAgentClientV1} from "./interfaces/IERCAgentClientV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {ToolPin} from "./ToolPin.sol";

/// @title A version-1 tool that runs another one as long as its code and its metadata are what they were
/// @notice Give it to an agent in place of the tool. The tool sees it as `msg.sender`.
contract PinnedToolV1 is ToolPin, IERCAgentToolV1, IERCAgentClientV1, ERC165 {
    /// @notice Pins a tool as it is now.
    /// @param _tool a tool or an agent of version 1
    /// @param _agent the only address that may run it; zero: everybody
    constructor(address _tool, address _agent) ToolPin(_tool, _agent) {}

    /// @inheritdoc IERCAgentToolV1
    function name() external view returns (string memory) {
        return pinnedName;
    }

    /// @inheritdoc IERCAgentToolV1
    function description() external view returns (string memory) {
        return pinnedDescription;
    }

    /// @inheritdoc IERCAgentToolV1
    function inputDescription() external view returns (IERCAgentToolV1.InputDescription memory) {
        return abi.decode(abi.encode(pinnedInputDescription), (IERCAgentToolV1.InputDescription));
    }

    /// @notice Runs the tool, or reverts with `CodeChanged` or `MetadataChanged`.
    function run(IERCAgentToolV1.Input memory input, address resultHandler)
        external
        returns (uint256 runId, string memory result)
    {
        _requireUnchanged();
        bytes memory output =
            _relay(abi.encodeCall(IERCAgentToolV1.run, (input, _handler(resultHandler))), resultHandler);
        return abi.decode(output, (uint256, string));
    }

    /// @inheritdoc IERCAgentClientV1
    function handleAgentResult(uint256 runId, string memory result) external {
        IERCAgentClientV1(_takeHandler(runId)).handleAgentResult(runId, result);
    }

    /// @notice Tells which interfaces this tool has.
    function supportsInterface(bytes4 interfaceId) public view override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentToolV1).interfaceId || interfaceId == type(IERCAgentClientV1).interfaceId
            || super.supportsInterface(interfaceId);
    }
}
