// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {ToolResultConverter} from "../../interfaces/ToolResultConverter.sol";
import {Decimal} from "../../libraries/Decimal.sol";

/// @title Says what a swap gives, for example "The amount out is: 5980"
contract LastAmountConverter is ToolResultConverter {
    /// @inheritdoc ToolResultConverter
    function convertToString(bytes memory result) external pure returns (string memory) {
        uint256[] memory amounts = abi.decode(result, (uint256[]));
        return string.concat("The amount out is: ", Decimal.toString(amounts[amounts.length - 1]));
    }
}
