// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IERCAgentClient} from "../interfaces/IERCAgentClient.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {IERCAgentClientV1} from "./interfaces/IERCAgentClientV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {ParamTuple} from "./ParamTuple.sol";
import {ResultRelay} from "./ResultRelay.sol";

/// @title Lets a tool or an agent of version 2 be a tool of version-1 agents
/// @notice The name, the description and the parameters are the tool's. The tool sees this adapter as `msg.sender`: one that
///   checks its caller has to allow the adapter, and then everybody uses it through the adapter, unless it has an agent.
contract ToolV2AsV1 is IERCAgentToolV1, IERCAgentClient, ERC165, ResultRelay {
    /// @notice The tool of version 2.
    IERCAgentTool public immutable tool;

    /// @notice Creates an adapter.
    /// @param _tool a tool or an agent of version 2
    /// @param _agent the only address that may run it; zero: everybody
    constructor(IERCAgentTool _tool, address _agent) ResultRelay(address(_tool), _agent) {
        tool = _tool;
    }

    /// @inheritdoc IERCAgentToolV1
    function name() external view returns (string memory) {
        return tool.name();
    }

    /// @inheritdoc IERCAgentToolV1
    function description() external view returns (string memory) {
        return tool.description();
    }

    /// @inheritdoc IERCAgentToolV1
    function inputDescription() external view returns (IERCAgentToolV1.InputDescription memory) {
        return abi.decode(abi.encode(tool.inputDescription()), (IERCAgentToolV1.InputDescription));
    }

    /// @notice Runs the tool with the values of the input, and with all of them as one tuple.
    /// @return runId `type(uint256).max` if the tool was synchronous, else its run ID
    /// @return result the tool's
    function run(IERCAgentToolV1.Input memory input, address resultHandler)
        external
        returns (uint256 runId, string memory result)
    {
        IERCAgentTool.Input memory inputV2;
        inputV2.params = abi.decode(abi.encode(input.params), (IERCAgentTool.ParamValue[]));
        inputV2.abiEncodedParams = ParamTuple.encode(input.params);
        bytes memory output = _relay(abi.encodeCall(IERCAgentTool.run, (inputV2, _handler(resultHandler))), resultHandler);
        return abi.decode(output, (uint256, string));
    }

    /// @inheritdoc IERCAgentClient
    function handleAgentResult(int256 runId, string memory result) external {
        address handler = _takeHandler(uint256(runId));
        IERCAgentClientV1(handler).handleAgentResult(uint256(runId), result);
    }

    /// @notice Tells which interfaces this adapter has.
    function supportsInterface(bytes4 interfaceId) public view override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentToolV1).interfaceId || interfaceId == type(IERCAgentClient).interfaceId
            || super.supportsInterface(interfaceId);
    }
}
