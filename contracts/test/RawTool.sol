// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title A tool without parameters whose `run` returns any bytes
contract RawTool is IERCAgentTool {
    bytes public output;

    constructor(bytes memory _output) {
        output = _output;
    }

    function name() external pure returns (string memory) {
        return "RawTool";
    }

    function description() external pure returns (string memory) {
        return "Answers with anything";
    }

    function inputDescription() external pure returns (InputDescription memory description_) {}

    function run(Input memory, address) external view returns (int256, string memory) {
        bytes memory data = output;
        assembly ("memory-safe") {
            return(add(data, 32), mload(data))
        }
    }
}
