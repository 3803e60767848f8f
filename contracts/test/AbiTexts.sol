// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AbiText} from "../libraries/AbiText.sol";
import {AbiTypes} from "../libraries/AbiTypes.sol";

/// @title Reads and writes typed texts, for tests
contract AbiTexts {
    /// @notice The data of a text.
    function encode(string calldata abiType, string calldata text) external pure returns (bytes memory) {
        return AbiText.encode(abiType, text);
    }

    /// @notice The text of data.
    function decode(string calldata abiType, bytes calldata data) external pure returns (string memory) {
        return AbiText.decode(abiType, data);
    }

    /// @notice The type in a text, written again.
    function rewrite(string calldata abiType) external pure returns (string memory) {
        return AbiTypes.nameOf(AbiTypes.parse(abiType));
    }
}
