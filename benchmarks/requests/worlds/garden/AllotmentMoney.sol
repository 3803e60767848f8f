// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

contract AllotmentToken is ERC20, Ownable {
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

/// @title Register of the allotment's plots, their tenants and their yearly fees
contract PlotRegister is Ownable {
    using SafeERC20 for IERC20;

    struct Plot {
        address tenant;
        uint256 feeDue;
    }

    error NotTheBoard(address caller);
    error NoSuchPlot(uint256 plotNumber);
    error PlotTaken(uint256 plotNumber, address tenant);
    error MoreThanDue(uint256 plotNumber, uint256 feeDue);

    event PlotAssigned(uint256 indexed plotNumber, address indexed tenant);
    event FeePaid(uint256 indexed plotNumber, address indexed payer, uint256 amount);

    uint256 public constant PLOTS = 48;

    IERC20 public immutable feeToken;
    address public board;
    mapping(uint256 plotNumber => Plot) private plots;

    constructor(IERC20 feeToken_) Ownable(msg.sender) {
        feeToken = feeToken_;
    }

    modifier onlyBoard() {
        if (msg.sender != board && msg.sender != owner()) revert NotTheBoard(msg.sender);
        _;
    }

    function setBoard(address newBoard) external onlyOwner {
        board = newBoard;
    }

    function chargeFee(uint256 plotNumber, uint256 amount) external onlyOwner {
        _plot(plotNumber).feeDue += amount;
    }

    /// @notice Gives a free plot to a tenant.
    /// @param plotNumber number of the plot, 1 to 48
    /// @param tenant who will garden it
    function assignPlot(uint256 plotNumber, address tenant) external onlyBoard {
        Plot storage plot = _plot(plotNumber);
        if (plot.tenant != address(0)) revert PlotTaken(plotNumber, plot.tenant);
        plot.tenant = tenant;
        emit PlotAssigned(plotNumber, tenant);
    }

    /// @notice Pays towards the yearly fee of a plot.
    /// @param plotNumber number of the plot, 1 to 48
    /// @param amount how much
    function payFee(uint256 plotNumber, uint256 amount) external {
        Plot storage plot = _plot(plotNumber);
        if (amount == 0 || amount > plot.feeDue) revert MoreThanDue(plotNumber, plot.feeDue);
        plot.feeDue -= amount;
        feeToken.safeTransferFrom(msg.sender, address(this), amount);
        emit FeePaid(plotNumber, msg.sender, amount);
    }

    /// @notice Tells how much of a plot's fee is still unpaid.
    /// @param plotNumber number of the plot, 1 to 48
    /// @return amount what is due
    function feeDue(uint256 plotNumber) external view returns (uint256 amount) {
        return _plot(plotNumber).feeDue;
    }

    function tenantOf(uint256 plotNumber) external view returns (address) {
        return _plot(plotNumber).tenant;
    }

    function _plot(uint256 plotNumber) private view returns (Plot storage) {
        if (plotNumber == 0 || plotNumber > PLOTS) revert NoSuchPlot(plotNumber);
        return plots[plotNumber];
    }
}

contract Cistern {
    using SafeERC20 for IERC20;

    event WaterAllotted(uint256 indexed plotNumber, uint256 shares);

    IERC20 public immutable water;
    mapping(uint256 => uint256) public sharesOfPlot;

    constructor(IERC20 water_) {
        water = water_;
    }

    function allotWater(uint256 plotNumber, uint256 shares) external {
        require(plotNumber > 0 && plotNumber <= 48, "no such plot");
        require(shares > 0, "no shares");
        sharesOfPlot[plotNumber] += shares;
        water.safeTransferFrom(msg.sender, address(this), shares);
        emit WaterAllotted(plotNumber, shares);
    }
}
