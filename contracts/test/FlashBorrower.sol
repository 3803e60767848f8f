// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {IERC20} from "../interfaces/IERC20.sol";
import {FlashLender} from "./FlashLender.sol";

/// @title An attacker's contract: makes any calls in one transaction, with borrowed money or without
contract FlashBorrower {
    /// @notice A call, which may fail.
    /// @param token whose balance, of this contract, is written into the calldata; zero: nothing is
    /// @param place where it is written, in bytes
    struct Call {
        address target;
        uint256 value;
        bytes data;
        address token;
        uint256 place;
    }

    receive() external payable {}

    /// @notice Makes calls.
    /// @return made a bit for each call, set if it succeeded
    function act(Call[] memory calls) public payable returns (uint256 made) {
        for (uint256 i = 0; i < calls.length; i++) {
            Call memory each = calls[i];
            if (each.token != address(0)) _write(each.data, each.place, IERC20(each.token).balanceOf(address(this)));
            (bool success,) = each.target.call{value: each.value}(each.data);
            if (success) made |= 1 << i;
        }
    }

    /// @notice Makes calls with a loan.
    function borrow(FlashLender lender, address token, uint256 amount, Call[] calldata calls)
        external
        returns (uint256 made)
    {
        return lender.lend(token, amount, calls);
    }

    /// @notice Makes calls with what its lender sent, and pays it back.
    function spend(address token, uint256 amount, Call[] calldata calls) external returns (uint256 made) {
        made = act(calls);
        if (token == address(0)) Address.sendValue(payable(msg.sender), amount);
        else IERC20(token).transfer(msg.sender, amount);
    }

    function _write(bytes memory data, uint256 place, uint256 word) private pure {
        assembly ("memory-safe") {
            mstore(add(add(data, 32), place), word)
        }
    }
}
