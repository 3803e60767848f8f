// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IUniswapV2Router01} from "@uniswap/v2-periphery/contracts/interfaces/IUniswapV2Router01.sol";

/// @title Holds the tokens that an agent swaps by Uniswap V2
/// @notice Amounts are whole tokens. It takes any price: it is for tests, and no account for a live chain.
contract UniswapAccount {
    using SafeERC20 for IERC20Metadata;

    /// @notice Somebody else than the agent's tools used the account.
    error NotTool(address caller);

    /// @notice Somebody else than the owner tried to add a tool.
    error NotOwner(address caller);

    address public immutable owner;
    IUniswapV2Router01 public immutable router;

    /// @notice The tools that may use this account.
    mapping(address tool => bool) public isTool;

    modifier onlyTool() {
        if (!isTool[msg.sender]) revert NotTool(msg.sender);
        _;
    }

    constructor(IUniswapV2Router01 _router) {
        owner = msg.sender;
        router = _router;
    }

    /// @notice Lets a tool of the agent use this account.
    function addTool(address tool) external {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        isTool[tool] = true;
    }

    /// @notice Lets the router take tokens of this account.
    function approve(IERC20Metadata asset, uint256 amount) external onlyTool {
        asset.forceApprove(address(router), _toBaseUnits(asset, amount));
    }

    /// @notice Swaps tokens of this account, which the router must be allowed to take.
    /// @param amount in whole tokens of `give`
    /// @return amounts what was given and got, in base units
    function swap(IERC20Metadata give, IERC20Metadata get, uint256 amount)
        external
        onlyTool
        returns (uint256[] memory amounts)
    {
        address[] memory path = new address[](2);
        (path[0], path[1]) = (address(give), address(get));
        return router.swapExactTokensForTokens(_toBaseUnits(give, amount), 0, path, address(this), block.timestamp);
    }

    function _toBaseUnits(IERC20Metadata asset, uint256 amount) private view returns (uint256) {
        return amount * 10 ** asset.decimals();
    }
}
