// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {TransientSlot} from "@openzeppelin/contracts/utils/TransientSlot.sol";

/// @title Keeps lists of integers by account until the end of the transaction
/// @notice A revert undoes what was kept in it, as it undoes everything else. A later list of the same account replaces an
///   earlier one.
library TransientValues {
    using TransientSlot for *;

    /// @dev keccak256("pyevm-agents.TransientValues"): the area of transient storage, which nothing else here uses.
    uint256 private constant AREA = 0x4e64fb0b3a0d3bcb44ffe76468629946c7f7cb3d2f4ca36521bce4d2ada99c86;

    /// @notice Replaces what is kept for an account.
    function keep(address account, int256[] memory values) internal {
        uint256 slot = _slotOf(account);
        bytes32(slot).asUint256().tstore(values.length + 1);
        for (uint256 i = 0; i < values.length; i++) bytes32(slot + 1 + i).asInt256().tstore(values[i]);
    }

    /// @notice Returns what is kept for an account.
    /// @return isKept false if nothing is
    function read(address account) internal view returns (bool isKept, int256[] memory values) {
        uint256 slot = _slotOf(account);
        uint256 mark = bytes32(slot).asUint256().tload();
        if (mark == 0) return (false, values);
        values = new int256[](mark - 1);
        for (uint256 i = 0; i < values.length; i++) values[i] = bytes32(slot + 1 + i).asInt256().tload();
        return (true, values);
    }

    function _slotOf(address account) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(AREA, account))) >> 1; // so that no index overflows
    }
}
