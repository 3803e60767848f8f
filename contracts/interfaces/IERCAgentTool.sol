// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title A tool that an agent can use to inspect its environment or to act in it
/// @notice The agent's model sees the name, the description and the input description of a tool, and decides
///   by them when to use it. Agents are tools themselves, so an agent can use other agents.
/// @dev As in the ERC. `ParamType.BOOL_ARRAY` is spelt `BOOL_ARAY` there; its position, and so the ABI, is kept.
interface IERCAgentTool {
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

    /// @notice Describes all parameters that a tool expects as input, in order.
    struct InputDescription {
        ParamDescription[] paramDescriptions;
    }

    /// @notice Describes a single parameter of the tool input.
    /// @param paramType type of the argument
    /// @param name name of the argument, to be used by the agent; the executor refuses some, see `name()`
    /// @param description description of the argument, to be used by the agent
    struct ParamDescription {
        ParamType paramType;
        string name;
        string description;
    }

    /// @notice One argument of a tool invocation.
    /// @param paramType type of the argument
    /// @param value `abi.encode` of the single typed value: `INT` is int256, `UINT` is uint256
    struct ParamValue {
        ParamType paramType;
        bytes value;
    }

    /// @notice The arguments of a tool invocation.
    /// @param params the arguments one by one, in the order of the InputDescription, for checks or overrides
    /// @param abiEncodedParams `abi.encode` of all typed values as one tuple, in the same order: the calldata of
    ///   a function with these parameters, without its selector
    struct Input {
        ParamValue[] params;
        bytes abiEncodedParams;
    }

    /// @notice Returns the name of this tool, which should be short and meaningful.
    /// @dev The executor takes names of 1 to 64 bytes: words of printable ASCII, one space apart. It refuses `0x` before
    ///   a hexadecimal digit, `true`, `false`, `null`, `addr1` and the like, and names that look like another of the same
    ///   agent, such as `Pool1` and `Pooll`.
    /// @return Name of the tool
    function name() external view returns (string memory);

    /// @notice Returns the description of this tool: what it does at a high level, and when to use it.
    /// @return Description of the tool
    function description() external view returns (string memory);

    /// @notice Returns the specification of the input that the tool expects.
    /// @return InputDescription of the input to this tool
    function inputDescription() external view returns (InputDescription memory);

    /// @notice Runs the tool with the given input and returns the result.
    /// @dev A tool may be asynchronous: it then returns a run ID at once and hands the result to the
    ///   result handler later. Asynchronous tools should mainly wrap agents that run off-chain.
    /// @param input the input to this tool, as its input description asks
    /// @param resultHandler the contract that receives the result of an asynchronous run; must implement
    ///   IERCAgentClient. A synchronous tool ignores it.
    /// @return runId -1 when the run was synchronous, else a non-negative ID that comes again with the result
    /// @return result the result of a synchronous run; without meaning unless runId is -1
    function run(Input memory input, address resultHandler) external returns (int256 runId, string memory result);
}
