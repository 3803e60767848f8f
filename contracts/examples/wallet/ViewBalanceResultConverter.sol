// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {ToolResultConverter} from "../../interfaces/ToolResultConverter.sol";
import {Decimal} from "../../libraries/Decimal.sol";

/// @title Says a balance in words, for example "The balance is: 510"
contract ViewBalanceResultConverter is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        return string.concat("The balance is: ", Decimal.toString(abi.decode(result, (uint256))));
    }
}
