// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {FixedPointText} from "../../libraries/FixedPointText.sol";
import {LendingPool} from "./LendingPool.sol";

/// @title A tool of a lending pool's agents
abstract contract LoanTool is IERCAgentTool {
    /// @notice The tool has other parameters.
    error UnexpectedInput(string reason);

    /// @dev Decimals that amounts are shown with.
    uint8 private constant SHOWN = 2;

    /// @notice Where applications are open.
    LendingPool public immutable pool;

    constructor(LendingPool _pool) {
        pool = _pool;
    }

    /// @dev Returns an amount of the currency, such as "500.00 USDT".
    function _tellAmount(uint256 amount) internal view returns (string memory) {
        IERC20Metadata currency = IERC20Metadata(pool.asset());
        uint8 decimals = currency.decimals();
        uint8 shown = decimals < SHOWN ? decimals : SHOWN;
        return string.concat(FixedPointText.format(int256(amount), decimals, shown), " ", currency.symbol());
    }

    function _requireNoInput(Input memory input) internal pure {
        if (input.params.length != 0) revert UnexpectedInput("no parameters expected");
    }
}
