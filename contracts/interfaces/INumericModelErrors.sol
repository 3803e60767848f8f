// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title The typed errors of the numeric models at 0x1a
/// @notice A call is refused by a revert with one of these; the rest of the gas is returned. A call that runs out of gas
///   halts as any other call does, without data. Sizes are in bytes.
interface INumericModelErrors {
    /// @notice This chain, or the program that executes its code, has no numeric models at 0x1a.
    ///   Use a chain whose configuration has some; local forks in other EVMs can't run them.
    error ModelsUnavailable();

    /// @notice The precompile was entered by DELEGATECALL or CALLCODE. Use CALL or STATICCALL.
    error DelegateCallNotAllowed();

    /// @notice The call carried ether, which the precompile doesn't accept. Call it without value.
    error ValueNotAccepted(uint256 value);

    /// @notice The calldata doesn't start with a selector of `INumericModels`. `selector` is its first four bytes, with
    ///   zeros in place of those that it doesn't have.
    error UnknownSelector(bytes4 selector);

    /// @notice The calldata is larger than the precompile reads.
    error CalldataTooLarge(uint256 size, uint256 limit);

    /// @notice The calldata isn't a well-formed ABI encoding of the arguments. Encode it with `abi.encodeCall`.
    error MalformedCalldata(string reason);

    /// @notice A string argument isn't valid UTF-8. `field` names the argument.
    error InvalidUtf8(string field);

    /// @notice The chain's configuration has no such model. Use one of its names or digests.
    error UnknownModel(string modelId);

    /// @notice The input has another length than the model takes.
    error InputLengthMismatch(uint256 given, uint256 wanted);

    /// @notice The value at `index` is outside of the model's range, both of whose ends are admitted.
    error InputOutOfRange(uint256 index, int256 value, int256 least, int256 most);
}
