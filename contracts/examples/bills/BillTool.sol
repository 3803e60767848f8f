// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {FixedPointText} from "../../libraries/FixedPointText.sol";
import {BillBook} from "./BillBook.sol";

/// @title A tool of agents that read and pay bills
abstract contract BillTool is IERCAgentTool {
    /// @notice The tool has other parameters.
    error UnexpectedInput(string reason);

    /// @notice Where bills are open.
    BillBook public immutable book;

    constructor(BillBook _book) {
        book = _book;
    }

    /// @dev Returns an amount in whole tokens without needless zeros, such as "75".
    function _tellAmount(uint256 amount) internal view returns (string memory) {
        uint8 decimals = book.currency().decimals();
        uint8 shown = 0;
        for (uint256 unit = 10 ** decimals; amount % unit != 0; unit /= 10) shown++;
        return FixedPointText.format(int256(amount), decimals, shown);
    }
}
