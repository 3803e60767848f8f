// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title Hands on a text that a function returns
contract TextResult is ToolResultConverter {
    function convertToString(bytes memory result) external pure returns (string memory) {
        return abi.decode(result, (string));
    }
}
