// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";

/// @title Takes tokens of its caller: all that was said, a part of it, or what it alone knows
contract Puller is ERC1155Holder {
    using SafeERC20 for IERC20;

    /// @notice The amount of a bill.
    mapping(uint256 number => uint256) public bills;

    function setBill(uint256 number, uint256 amount) external {
        bills[number] = amount;
    }

    /// @notice Says one amount, and takes another.
    function pull(IERC20 token, uint256 amount, uint256 used) external {
        require(used <= amount, "more than was said");
        if (used != 0) token.safeTransferFrom(msg.sender, address(this), used);
    }

    /// @notice Takes an amount of the first token of a path.
    function pullFirst(uint256 amount, IERC20[] calldata path) external {
        if (path.length != 0) path[0].safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Takes several amounts, of one token or of several.
    function pullMany(IERC20[] calldata tokens, uint256[] calldata amounts) external {
        for (uint256 i = 0; i < amounts.length; i++) {
            tokens[tokens.length == 1 ? 0 : i].safeTransferFrom(msg.sender, address(this), amounts[i]);
        }
    }

    /// @notice Takes the amount of a bill in each of two tokens, and pays a part of the first one back.
    function payBill(uint256 number, IERC20 first, IERC20 second, uint256 back) external {
        first.safeTransferFrom(msg.sender, address(this), bills[number]);
        second.safeTransferFrom(msg.sender, address(this), bills[number] * 2);
        first.safeTransfer(msg.sender, back);
    }

    /// @notice Takes items, or leaves them.
    function takeItems(IERC721 token, uint256[] calldata items, bool isTaken) external {
        for (uint256 i = 0; i < items.length && isTaken; i++) token.transferFrom(msg.sender, address(this), items[i]);
    }

    /// @notice Takes some of a token.
    function takeStack(IERC1155 token, uint256 id, uint256 amount) external {
        token.safeTransferFrom(msg.sender, address(this), id, amount, "");
    }
}
