// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {Ledger} from "./Ledger.sol";

/// @title A tool made of constructor arguments, which answers as a task says
/// @notice With arguments that it has replies for, it gives them one after the other, the last one again and again;
///   with others its default reply. If it acts, each use but a failure is noted in a ledger.
contract ScriptedTool is IERCAgentTool {
    /// @param argumentsHash keccak256 of the `abiEncodedParams` that it answers
    /// @param isFailure true if the tool does nothing, and says so
    /// @param text what it answers
    struct Reply {
        bytes32 argumentsHash;
        bool isFailure;
        string text;
    }

    /// @inheritdoc IERCAgentTool
    string public name;

    /// @inheritdoc IERCAgentTool
    string public description;

    /// @notice Where the tool notes what it did; the zero address if it only looks.
    Ledger public immutable ledger;

    InputDescription parameters;
    string defaultReply;
    mapping(bytes32 argumentsHash => Reply[]) replies;
    mapping(bytes32 argumentsHash => uint256) given;

    /// @param _replies those of one argumentsHash in the order in which it gives them
    constructor(
        string memory _name,
        string memory _description,
        ParamDescription[] memory _parameters,
        Ledger _ledger,
        string memory _defaultReply,
        Reply[] memory _replies
    ) {
        name = _name;
        description = _description;
        for (uint256 i = 0; i < _parameters.length; i++) parameters.paramDescriptions.push(_parameters[i]);
        ledger = _ledger;
        defaultReply = _defaultReply;
        for (uint256 i = 0; i < _replies.length; i++) replies[_replies[i].argumentsHash].push(_replies[i]);
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (InputDescription memory) {
        return parameters;
    }

    /// @notice Answers, and notes what it did.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    /// @return runId -1, as the tool is synchronous
    /// @return result the reply
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        bytes32 argumentsHash = keccak256(input.abiEncodedParams);
        bool isFailure;
        (isFailure, result) = _reply(argumentsHash);
        if (!isFailure && address(ledger) != address(0)) ledger.append(argumentsHash);
        return (-1, result);
    }

    function _reply(bytes32 argumentsHash) private returns (bool isFailure, string memory text) {
        Reply[] storage known = replies[argumentsHash];
        if (known.length == 0) return (false, defaultReply);

        uint256 next = given[argumentsHash];
        if (next + 1 < known.length) given[argumentsHash] = next + 1;
        return (known[next].isFailure, known[next].text);
    }
}
