// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentToolV1} from "./interfaces/IERCAgentToolV1.sol";

/// @title Puts the arguments of a tool together, as calldata have them
/// @notice A version-1 input has each value as `abi.encode` of that value alone. A function takes them as one tuple.
library ParamTuple {
    /// @notice A value is not `abi.encode` of a single value of its type.
    error MalformedParam(uint256 index);

    /// @notice Returns `abi.encode` of all values as one tuple: the calldata of a function, without its selector.
    function encode(IERCAgentToolV1.ParamValue[] memory params) internal pure returns (bytes memory) {
        uint256 offset = params.length * 32;
        bytes memory heads;
        bytes memory tails;
        for (uint256 i = 0; i < params.length; i++) {
            bytes memory value = params[i].value;
            if (value.length % 32 != 0) revert MalformedParam(i);
            if (_isWord(params[i].paramType)) {
                if (value.length != 32) revert MalformedParam(i);
                heads = bytes.concat(heads, value);
            } else {
                // The first word is the offset of the only value, 32; the value itself follows.
                if (value.length < 64 || _firstWord(value) != 32) revert MalformedParam(i);
                heads = bytes.concat(heads, bytes32(offset + tails.length));
                tails = bytes.concat(tails, _withoutFirstWord(value));
            }
        }
        return bytes.concat(heads, tails);
    }

    function _isWord(IERCAgentToolV1.ParamType paramType) private pure returns (bool) {
        return paramType >= IERCAgentToolV1.ParamType.ADDRESS && paramType <= IERCAgentToolV1.ParamType.UINT;
    }

    function _firstWord(bytes memory value) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(value, 32))
        }
    }

    function _withoutFirstWord(bytes memory value) private pure returns (bytes memory rest) {
        uint256 size = value.length - 32;
        rest = new bytes(size);
        assembly ("memory-safe") {
            mcopy(add(rest, 32), add(value, 64), size)
        }
    }
}
