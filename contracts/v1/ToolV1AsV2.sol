// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IERCAgentClient} from "../interfaces/IERCAgentClient.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {IERCAgentClientV1} from "./interfaces/IERCAgentClientV1.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {ResultRelay} from "./ResultRelay.sol";

/// @title Lets a tool or an agent of version 1 be a tool of version-2 agents
/// @notice The name, the description and the parameters are the tool's. The tool sees this adapter as `msg.sender`: one that
///   checks its caller has to allow the adapter, and then everybody uses it through the adapter, unless it has an agent.
contract ToolV1AsV2 is IERCAgentTool, IERCAgentClientV1, ERC165, ResultRelay {
    /// @notice The tool of version 1.
    IERCAgentToolV1 public immutable tool;

    /// @notice Creates an adapter.
    /// @param _tool a tool or an agent of version 1
    /// @param _agent the only address that may run it; zero: everybody
    constructor(IERCAgentToolV1 _tool, address _agent) ResultRelay(address(_tool), _agent) {
        tool = _tool;
    }

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory) {
        return tool.name();
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory) {
        return tool.description();
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (IERCAgentTool.InputDescription memory) {
        return abi.decode(abi.encode(tool.inputDescription()), (IERCAgentTool.InputDescription));
    }

    /// @notice Runs the tool with the values of the input.
    /// @return runId -1 if the tool was synchronous, else its run ID
    /// @return result the tool's
    function run(IERCAgentTool.Input memory input, address resultHandler)
        external
        returns (int256 runId, string memory result)
    {
        IERCAgentToolV1.Input memory inputV1;
        inputV1.params = abi.decode(abi.encode(input.params), (IERCAgentToolV1.ParamValue[]));
        bytes memory output = _relay(abi.encodeCall(IERCAgentToolV1.run, (inputV1, _handler(resultHandler))), resultHandler);
        // -1 and `type(uint256).max` have the same bits; IDs above half of the range are no version-2 IDs.
        return abi.decode(output, (int256, string));
    }

    /// @inheritdoc IERCAgentClientV1
    function handleAgentResult(uint256 runId, string memory result) external {
        address handler = _takeHandler(runId);
        IERCAgentClient(handler).handleAgentResult(int256(runId), result);
    }

    /// @notice Tells which interfaces this adapter has.
    function supportsInterface(bytes4 interfaceId) public view override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentTool).interfaceId || interfaceId == type(IERCAgentClientV1).interfaceId
            || super.supportsInterface(interfaceId);
    }
}
