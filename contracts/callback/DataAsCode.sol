// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title Keeps bytes as the code of a new address
/// @notice 200 gas a byte, where storage costs 690. The first byte is STOP, so nobody can run the data.
library DataAsCode {
    /// @notice The data were not kept: they are longer than 24,575 bytes, or the gas ran out.
    error NotWritten(uint256 size);

    /// @notice Keeps data.
    /// @return where zero for empty data
    function write(bytes memory data) internal returns (address where) {
        if (data.length == 0) return address(0);
        // PUSH3 size, DUP1, PUSH1 11, PUSH0, CODECOPY, PUSH0, RETURN, then STOP and the data
        bytes memory creation =
            abi.encodePacked(hex"62", uint24(data.length + 1), hex"80600b5f395ff3", hex"00", data);
        assembly ("memory-safe") {
            where := create(0, add(creation, 32), mload(creation))
        }
        if (where == address(0)) revert NotWritten(data.length);
    }

    /// @notice Returns the data.
    /// @param where what `write` returned
    function read(address where) internal view returns (bytes memory data) {
        if (where == address(0)) return "";
        uint256 size = where.code.length - 1;
        data = new bytes(size);
        assembly ("memory-safe") {
            extcodecopy(where, add(data, 32), 1, size)
        }
    }
}
