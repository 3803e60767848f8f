// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract ArcadeToken is ERC20, Ownable {
    uint8 private immutable _decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) ERC20(name_, symbol_) Ownable(msg.sender) {
        _decimals = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return _decimals;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title The pot that winners are paid from
contract PrizePot is Ownable {
    using SafeERC20 for IERC20;

    error NotHost(address caller);
    error PotTooSmall(uint256 pot);

    event Added(address indexed from, uint256 amount);
    event Won(address indexed winner, uint256 amount);

    IERC20 public immutable token;
    address public host;
    uint256 public pot;
    mapping(address winner => uint256) public winnings;

    constructor(IERC20 _token) Ownable(msg.sender) {
        token = _token;
    }

    function setHost(address newHost) external onlyOwner {
        host = newHost;
    }

    /// @notice Adds to the pot.
    /// @param amount how much
    function addToPot(uint256 amount) external {
        pot += amount;
        token.safeTransferFrom(msg.sender, address(this), amount);
        emit Added(msg.sender, amount);
    }

    /// @notice Pays a winner out of the pot.
    /// @param winner who has won
    /// @param amount how much
    function payWinner(address winner, uint256 amount) external {
        if (msg.sender != host) revert NotHost(msg.sender);
        if (amount > pot) revert PotTooSmall(pot);
        pot -= amount;
        winnings[winner] += amount;
        token.safeTransfer(winner, amount);
        emit Won(winner, amount);
    }
}
