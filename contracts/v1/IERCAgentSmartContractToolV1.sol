// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {AbiText} from "../libraries/AbiText.sol";
import {AbiTypes} from "../libraries/AbiTypes.sol";
import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";
import {ParamTuple} from "./ParamTuple.sol";
import {ToolAbi} from "./ToolAbi.sol";

/// @title A tool that is one function of an existing contract, in the first draft `IERCAgentSmartContractTool`
/// @notice The parameters come from `toolAbi`. The function sees this tool as `msg.sender`.
/// @dev The folder's README lists what differs from the draft's text, and why. Needs the optimizer.
abstract contract IERCAgentSmartContractToolV1 is IERCAgentToolV1, ERC165 {
    /// @notice The function reverted, or there is no contract at its address.
    /// @param reason the function's own revert data
    error ToolCallReverted(address target, bytes reason);

    /// @notice `toolAbi` is another function's than `toolSelector`.
    error SelectorMismatch(bytes4 toolSelector, bytes4 ofToolAbi);

    /// @notice The input has another parameter than the tool's description.
    error UnexpectedParam(uint256 index);

    string toolName;
    string toolDescription;
    address public toolContract;
    bytes4 public toolSelector;
    string public toolAbi;

    /// @notice The type of the function's result: empty for none, a tuple for several values.
    string public outputType;

    IERCAgentToolV1.InputDescription toolInputDescription;

    /// @notice Creates a new tool.
    /// @param _name name of the tool
    /// @param _description description of the tool
    /// @param _toolContract address of the contract that implements the tool
    /// @param _toolSelector selector of the function on _toolContract that the tool calls
    /// @param _toolAbi that function in words or as an element of a JSON ABI: see ToolAbi
    constructor(
        string memory _name,
        string memory _description,
        address _toolContract,
        bytes4 _toolSelector,
        string memory _toolAbi
    ) {
        toolName = _name;
        toolDescription = _description;
        toolContract = _toolContract;
        toolSelector = _toolSelector;
        toolAbi = _toolAbi;
        (bytes4 selector, IERCAgentToolV1.InputDescription memory input, string memory output) = ToolAbi.read(_toolAbi);
        if (selector != _toolSelector) revert SelectorMismatch(_toolSelector, selector);
        if (bytes(output).length != 0) AbiTypes.parse(output); // an unknown type reverts here, not in a run
        outputType = output;
        for (uint256 i = 0; i < input.paramDescriptions.length; i++) {
            toolInputDescription.paramDescriptions.push(input.paramDescriptions[i]);
        }
    }

    /// @inheritdoc IERCAgentToolV1
    function name() external view returns (string memory) {
        return toolName;
    }

    /// @inheritdoc IERCAgentToolV1
    function description() external view returns (string memory) {
        return toolDescription;
    }

    /// @inheritdoc IERCAgentToolV1
    function inputDescription() external view returns (IERCAgentToolV1.InputDescription memory) {
        return toolInputDescription;
    }

    /// @notice Tells which interfaces this tool has.
    function supportsInterface(bytes4 interfaceId) public view virtual override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentToolV1).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @notice Calls the function with the given parameters.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    /// @return runId `type(uint256).max`
    /// @return result what the function returned, in words; `Done` if it returns nothing
    function run(IERCAgentToolV1.Input memory input, address)
        external
        virtual
        returns (uint256 runId, string memory result)
    {
        return (type(uint256).max, _call(input));
    }

    function _call(IERCAgentToolV1.Input memory input) internal returns (string memory) {
        uint256 count = toolInputDescription.paramDescriptions.length;
        if (input.params.length != count) revert UnexpectedParam(count);
        for (uint256 i = 0; i < count; i++) {
            if (input.params[i].paramType != toolInputDescription.paramDescriptions[i].paramType) {
                revert UnexpectedParam(i);
            }
        }
        (bool success, bytes memory output) =
            toolContract.call(bytes.concat(toolSelector, ParamTuple.encode(input.params)));
        if (!success || toolContract.code.length == 0) revert ToolCallReverted(toolContract, output);
        return _describe(output);
    }

    /// @dev Return data are a tuple's members without its offset, which AbiText expects of a tuple of dynamic size.
    function _describe(bytes memory output) private view returns (string memory) {
        string memory kind = outputType;
        if (bytes(kind).length == 0) return "Done";
        if (bytes(kind)[0] == "(" && AbiTypes.parse(kind).isDynamic) output = bytes.concat(bytes32(uint256(32)), output);
        return AbiText.decode(kind, output);
    }
}
