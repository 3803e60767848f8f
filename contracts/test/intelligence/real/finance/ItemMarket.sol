// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// @title Holds items that are for sale, and stacks of others
contract ItemMarket is ERC721Holder, ERC1155Holder, Ownable, Pausable {
    struct Offer {
        address seller;
        uint256 price;
    }

    /// @notice An offer without a price.
    error NoPrice();

    /// @notice The item is not the caller's offer.
    error NotTheSeller(address seller);

    /// @notice A fee above ten percent.
    error HighFee(uint16 fee);

    /// @notice The ERC-721 token whose items are sold.
    IERC721 public immutable items;

    /// @notice The ERC-1155 token whose stacks are kept.
    IERC1155 public immutable stacks;

    /// @notice Basis points of a price.
    uint16 public fee;

    mapping(uint256 item => Offer) private _offers;
    mapping(address account => mapping(uint256 id => uint256)) private _kept;

    /// @param items_ the ERC-721 token
    /// @param stacks_ the ERC-1155 token
    /// @param owner_ sets and collects fees, and pauses
    constructor(IERC721 items_, IERC1155 stacks_, address owner_) Ownable(owner_) {
        items = items_;
        stacks = stacks_;
    }

    /// @notice Offers an item of the caller for `price` wei.
    function offer(uint256 item, uint256 price) external whenNotPaused {
        if (price == 0) revert NoPrice();
        _offers[item] = Offer(msg.sender, price);
        items.safeTransferFrom(msg.sender, address(this), item);
    }

    /// @notice Returns an item to its seller.
    function withdraw(uint256 item) external {
        address seller = _offers[item].seller;
        if (seller != msg.sender) revert NotTheSeller(seller);
        delete _offers[item];
        items.safeTransferFrom(address(this), msg.sender, item);
    }

    /// @notice Keeps a stack of the caller.
    function keep(uint256 id, uint256 amount) external whenNotPaused {
        _kept[msg.sender][id] += amount;
        stacks.safeTransferFrom(msg.sender, address(this), id, amount, "");
    }

    /// @notice Keeps stacks of the caller.
    function keepAll(uint256[] calldata ids, uint256[] calldata amounts) external whenNotPaused {
        stacks.safeBatchTransferFrom(msg.sender, address(this), ids, amounts, "");
        for (uint256 place; place < ids.length; ++place) _kept[msg.sender][ids[place]] += amounts[place];
    }

    /// @notice Sets the fee. For the owner.
    function setFee(uint16 fee_) external onlyOwner {
        if (fee_ > 1_000) revert HighFee(fee_);
        fee = fee_;
    }

    /// @notice Sends the fees to `to`. For the owner.
    function collect(address payable to) external onlyOwner {
        (bool isSent,) = to.call{value: address(this).balance}("");
        require(isSent);
    }

    /// @notice Stops offers and stacks. For the owner.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Lets offers and stacks go on. For the owner.
    function unpause() external onlyOwner {
        _unpause();
    }
}
