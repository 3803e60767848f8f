// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {TokenCall} from "../../libraries/TokenCall.sol";

/// @title A pool of ether and one token, with the functions of a DEX router
/// @notice The product of the two reserves stays what it was, 0.3 % of what comes in aside. Paths name ether by the
///   address of its wrapped form, as routers do; the pool holds ether itself and wraps nothing.
contract SwapPool {
    using TokenCall for address;

    /// @notice The path isn't [weth, token] or [token, weth].
    error UnknownPath(address[] path);

    /// @notice The block's time is after the deadline.
    error Expired(uint256 deadline);

    /// @notice The swap would give less than the caller insists on.
    error InsufficientOutputAmount(uint256 amountOut, uint256 amountOutMin);

    /// @notice The receiver refused the ether.
    error EtherRefused(address to);

    /// @notice What came in and what went out, in base units.
    event Swapped(address indexed sender, address indexed to, uint256 amountIn, uint256 amountOut, address[] path);

    /// @notice The token in the pool.
    address public immutable token;

    /// @notice The address by which paths name ether.
    address public immutable weth;

    modifier before(uint256 deadline) {
        if (block.timestamp > deadline) revert Expired(deadline);
        _;
    }

    constructor(address _token, address _weth) payable {
        token = _token;
        weth = _weth;
    }

    receive() external payable {}

    /// @notice Returns `amountIn` and what a swap of it along the path gives, in base units.
    function getAmountsOut(uint256 amountIn, address[] memory path) external view returns (uint256[] memory amounts) {
        return _amountsOut(amountIn, path, address(this).balance);
    }

    /// @notice Swaps the ether that comes with the call.
    function swapExactETHForTokens(uint256 amountOutMin, address[] memory path, address to, uint256 deadline)
        external
        payable
        before(deadline)
        returns (uint256[] memory amounts)
    {
        if (path.length != 2 || path[0] != weth) revert UnknownPath(path);
        amounts = _amountsOut(msg.value, path, address(this).balance - msg.value);
        if (amounts[1] < amountOutMin) revert InsufficientOutputAmount(amounts[1], amountOutMin);
        emit Swapped(msg.sender, to, amounts[0], amounts[1], path);
        token.transfer(to, amounts[1]);
    }

    /// @notice Swaps tokens of the caller, who must have approved the pool for them.
    function swapExactTokensForETH(
        uint256 amountIn,
        uint256 amountOutMin,
        address[] memory path,
        address to,
        uint256 deadline
    ) external before(deadline) returns (uint256[] memory amounts) {
        if (path.length != 2 || path[0] != token) revert UnknownPath(path);
        amounts = _amountsOut(amountIn, path, address(this).balance);
        if (amounts[1] < amountOutMin) revert InsufficientOutputAmount(amounts[1], amountOutMin);
        emit Swapped(msg.sender, to, amounts[0], amounts[1], path);
        token.transferFrom(msg.sender, address(this), amountIn);
        (bool success,) = to.call{value: amounts[1]}("");
        if (!success) revert EtherRefused(to);
    }

    function _amountsOut(uint256 amountIn, address[] memory path, uint256 etherReserve)
        private
        view
        returns (uint256[] memory amounts)
    {
        bool isEtherIn = path.length == 2 && path[0] == weth && path[1] == token;
        bool isTokenIn = path.length == 2 && path[0] == token && path[1] == weth;
        if (!isEtherIn && !isTokenIn) revert UnknownPath(path);
        uint256 tokenReserve = token.balanceOf(address(this));
        (uint256 reserveIn, uint256 reserveOut) =
            isEtherIn ? (etherReserve, tokenReserve) : (tokenReserve, etherReserve);
        uint256 amountInLessFee = amountIn * 997;
        amounts = new uint256[](2);
        amounts[0] = amountIn;
        amounts[1] = amountInLessFee * reserveOut / (reserveIn * 1000 + amountInLessFee);
    }
}
