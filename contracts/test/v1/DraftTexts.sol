// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {EscapedLine} from "../../v1/EscapedLine.sol";
import {IERCAgentToolV1} from "../../v1/interfaces/IERCAgentToolV1.sol";
import {ParamTuple} from "../../v1/ParamTuple.sol";
import {ToolAbi} from "../../v1/ToolAbi.sol";

/// @title The libraries of version 1, for tests
contract DraftTexts {
    /// @notice A text on one line.
    function escape(string calldata text) external pure returns (string memory) {
        return EscapedLine.escape(text);
    }

    /// @notice What a `toolAbi` says.
    function read(string calldata toolAbi)
        external
        pure
        returns (bytes4 selector, IERCAgentToolV1.InputDescription memory input, string memory outputType)
    {
        return ToolAbi.read(toolAbi);
    }

    /// @notice The arguments of a function.
    function encode(IERCAgentToolV1.ParamValue[] calldata params) external pure returns (bytes memory) {
        return ParamTuple.encode(params);
    }
}
