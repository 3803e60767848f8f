// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SwapPool} from "contracts/test/swap/SwapPool.sol";

/// @title A vault for one token
contract Vault {
    using SafeERC20 for IERC20;

    error WrongAmountReceived(uint256 received, uint256 expected);

    IERC20 public immutable asset;
    mapping(address => uint256) public deposits;

    constructor(IERC20 asset_) {
        asset = asset_;
    }

    /// @notice Deposits an amount of the asset.
    function deposit(uint256 amount) external {
        depositFor(msg.sender, amount);
    }

    /// @notice Deposits an amount of the asset in the name of another account.
    function depositFor(address account, uint256 amount) public {
        deposits[account] += amount;
        uint256 before = asset.balanceOf(address(this));
        asset.safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = asset.balanceOf(address(this)) - before;
        if (received != amount) revert WrongAmountReceived(received, amount);
    }

    /// @notice Withdraws an amount of the asset.
    function withdraw(uint256 amount) external {
        deposits[msg.sender] -= amount;
        asset.safeTransfer(msg.sender, amount);
    }
}

/// @title A vault with shares, which counts what goes in and out
contract ShareVault is ERC4626 {
    uint256 public moves;

    constructor(IERC20 asset_, string memory symbol_) ERC4626(asset_) ERC20("Vault Shares", symbol_) {}

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        moves++;
        super._deposit(caller, receiver, assets, shares);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
    {
        moves++;
        super._withdraw(caller, receiver, owner, assets, shares);
    }
}

/// @title A market for loans of several tokens
contract MoneyMarket is Ownable {
    using SafeERC20 for IERC20;

    error NotListed(address asset);

    mapping(address asset => bool) public isListed;
    mapping(address asset => mapping(address account => uint256)) public supplied;

    constructor() Ownable(msg.sender) {}

    function list(address asset) external onlyOwner {
        isListed[asset] = true;
    }

    /// @notice Supplies an amount of an asset.
    /// @param asset the token
    /// @param amount how much
    /// @param onBehalfOf who receives the supply
    /// @param referralCode 0 if there is none
    function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external {
        referralCode;
        if (!isListed[asset]) revert NotListed(asset);
        supplied[asset][onBehalfOf] += amount;
        IERC20(asset).safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Withdraws an amount of an asset.
    /// @param asset the token
    /// @param amount how much
    /// @param to who receives it
    function withdraw(address asset, uint256 amount, address to) external {
        supplied[asset][msg.sender] -= amount;
        IERC20(asset).safeTransfer(to, amount);
    }
}

/// @title Sells a service for a token, of which it takes a half at once and the rest never
contract Subscription {
    using SafeERC20 for IERC20;

    IERC20 public immutable token;
    mapping(address => uint256) public paid;

    constructor(IERC20 token_) {
        token = token_;
    }

    /// @notice Subscribes for an amount.
    /// @param amount how much to pay at most
    function subscribe(uint256 amount) external {
        paid[msg.sender] += amount / 2;
        token.safeTransferFrom(msg.sender, address(this), amount / 2);
    }
}

/// @title A pool of the native currency and one token, with a router's functions by which pools are found
contract Router is SwapPool {
    constructor(address token_, address weth_) SwapPool(token_, weth_) {}

    function WETH() external view returns (address) {
        return weth;
    }

    function factory() external view returns (address) {
        return address(this);
    }

    function getPair(address first, address second) external view returns (address) {
        bool isKnown = first == weth && second == token || first == token && second == weth;
        return isKnown ? address(this) : address(0);
    }

    function swapExactTokensForTokens(uint256, uint256, address[] calldata path, address, uint256)
        external
        pure
        returns (uint256[] memory)
    {
        revert UnknownPath(path);
    }

    /// @notice Adds to the reserve of the native currency.
    function fund() external payable {}
}

/// @title A setting of the router's owner
contract Switch is Ownable {
    bool public isOn;

    constructor() Ownable(msg.sender) {}

    /// @notice Switches the router over. For the owner.
    function adminFunction() external onlyOwner {
        isOn = !isOn;
    }
}

/// @title Where the price oracle is
contract Provider is Ownable {
    address public priceOracle;

    constructor() Ownable(msg.sender) {}

    /// @notice Sets the price oracle. For the owner.
    function setPriceOracle(address newPriceOracle) external onlyOwner {
        priceOracle = newPriceOracle;
    }
}

/// @title A wallet of several owners
contract Safe {
    error NotThisSafe(address caller);

    address[] private owners;
    mapping(address => bool) public isOwner;
    uint256 public threshold = 1;

    constructor(address[] memory owners_) {
        owners = owners_;
        for (uint256 i = 0; i < owners_.length; i++) isOwner[owners_[i]] = true;
    }

    /// @notice Returns the owners.
    function getOwners() external view returns (address[] memory) {
        return owners;
    }

    /// @notice Adds an owner. The safe alone may call it.
    /// @param owner the new owner
    /// @param threshold_ how many owners have to agree
    function addOwnerWithThreshold(address owner, uint256 threshold_) external {
        if (msg.sender != address(this)) revert NotThisSafe(msg.sender);
        owners.push(owner);
        isOwner[owner] = true;
        threshold = threshold_;
    }
}

/// @title A jar for tips
contract TipJar {
    /// @notice Tips received so far.
    uint256 public received;

    /// @notice Leaves a tip.
    function tip() external payable {
        received += msg.value;
    }
}
