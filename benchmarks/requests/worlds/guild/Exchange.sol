// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract Exchange {
    using SafeERC20 for IERC20Metadata;

    IERC20Metadata public immutable gold;
    IERC20Metadata public immutable silver;
    uint256 public immutable silverPerGold;

    constructor(IERC20Metadata gold_, IERC20Metadata silver_, uint256 silverPerGold_) {
        (gold, silver, silverPerGold) = (gold_, silver_, silverPerGold_);
    }

    function swapGoldForSilver(uint256 goldAmount) external returns (uint256 silverAmount) {
        silverAmount = goldAmount * silverPerGold * 10 ** silver.decimals() / 10 ** gold.decimals();
        gold.safeTransferFrom(msg.sender, address(this), goldAmount);
        silver.safeTransfer(msg.sender, silverAmount);
    }

    function swapSilverForGold(uint256 silverAmount) external returns (uint256 goldAmount) {
        goldAmount = silverAmount * 10 ** gold.decimals() / silverPerGold / 10 ** silver.decimals();
        silver.safeTransferFrom(msg.sender, address(this), silverAmount);
        gold.safeTransfer(msg.sender, goldAmount);
    }
}
