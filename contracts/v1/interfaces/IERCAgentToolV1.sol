// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

/// @title A tool of the ERC's first draft, there `IERCAgentTool`
/// @notice Agents are tools themselves, so an agent can use other agents.
/// @dev `name`, `description` and `inputDescription` have the same selectors as in version 2. `run` has another one, since
///   `Input` has no `abiEncodedParams`. The ERC-165 identifier is that of the four functions here, as
///   `type(IERCAgentToolV1).interfaceId` gives it: like ERC-721's, it leaves out `supportsInterface`.
interface IERCAgentToolV1 is IERC165 {
    /// @notice The types that an input parameter of a tool can have.
    enum ParamType {
        STRING,
        ADDRESS,
        BOOL,
        INT,
        UINT,
        STRING_ARRAY,
        ADDRESS_ARRAY,
        BOOL_ARRAY,
        INT_ARRAY,
        UINT_ARRAY
    }

    /// @notice Describes a single parameter of the tool input.
    struct ParamDescription {
        ParamType paramType;
        string name;
        string description;
    }

    /// @notice Describes all parameters that a tool expects as input, in order.
    struct InputDescription {
        ParamDescription[] paramDescriptions;
    }

    /// @notice One argument of a tool invocation.
    /// @param paramType type of the argument
    /// @param value `abi.encode` of the single typed value: `INT` is int256, `UINT` is uint256
    struct ParamValue {
        ParamType paramType;
        bytes value;
    }

    /// @notice The arguments of a tool invocation, in the order of the InputDescription.
    struct Input {
        ParamValue[] params;
    }

    /// @notice Returns the name of this tool, which should be short and meaningful.
    function name() external view returns (string memory);

    /// @notice Returns the description of this tool: what it does at a high level, and when to use it.
    function description() external view returns (string memory);

    /// @notice Returns the specification of the input that the tool expects.
    function inputDescription() external view returns (InputDescription memory);

    /// @notice Runs the tool with the given input and returns the result.
    /// @param input the input to this tool, as its input description asks
    /// @param resultHandler the contract that receives the result of an asynchronous run; must implement
    ///   IERCAgentClientV1. A synchronous tool ignores it.
    /// @return runId `type(uint256).max` when the run was synchronous, for the draft's -1; else the ID that comes again with
    ///   the result
    /// @return result the result of a synchronous run; without meaning after an asynchronous one
    function run(Input memory input, address resultHandler) external returns (uint256 runId, string memory result);
}
