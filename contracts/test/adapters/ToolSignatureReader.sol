// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ToolSignature} from "../../adapters/ToolSignature.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title Reads signatures for tests
contract ToolSignatureReader {
    /// @notice Reads a signature.
    function read(string memory signature)
        external
        pure
        returns (bytes4 selector, string memory name, IERCAgentTool.ParamDescription[] memory params)
    {
        return ToolSignature.read(signature);
    }
}
