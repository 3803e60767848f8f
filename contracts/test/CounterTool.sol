// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {Decimal} from "../libraries/Decimal.sol";
import {Counter} from "./Counter.sol";

/// @title A tool that changes state: it adds to its own counter
contract CounterTool is IERCAgentTool, Counter {
    function name() external pure returns (string memory) {
        return "CounterTool";
    }

    function description() external pure returns (string memory) {
        return "Adds to the counter";
    }

    function inputDescription() external pure returns (InputDescription memory) {
        ParamDescription[] memory params = new ParamDescription[](1);
        params[0] = ParamDescription(ParamType.UINT, "amount", "how much to add");
        return InputDescription(params);
    }

    function run(Input memory input, address) external returns (int256, string memory) {
        add(abi.decode(input.abiEncodedParams, (uint256)));
        return (-1, string.concat("The counter is: ", Decimal.toString(number)));
    }
}
