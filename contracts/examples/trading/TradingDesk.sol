// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IUniswapV2Router} from "./IUniswapV2Router.sol";
import {PriceFeed} from "./PriceFeed.sol";

/// @title Holds cash and assets, and trades them on Uniswap V2 within its owner's limits
/// @notice Only one contract may trade: the trader, a tool of the agent. Whatever it asks for:
///   - a purchase never raises an asset's share of the desk's value above the asset's limit;
///   - a trade is at most `maxTrade`, all trades of a period at most `maxTurnover`, in cash at the feed's prices;
///   - a trade never costs more than `maxSlippageBps` against the feed's price, and takes none of an old price;
///   - tokens leave to nobody but pools, and to whom the owner sends them.
/// @dev Values are in base units of the cash token, at the feed's prices. The feed and the router are trusted by the owner.
contract TradingDesk is Ownable2Step, Pausable, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @notice What the desk holds besides cash.
    /// @param token the asset's token
    /// @param unit base units of a whole token
    /// @param maxShareBps the largest share of the desk's value up to which the asset is bought
    struct Asset {
        IERC20 token;
        uint256 unit;
        uint256 maxShareBps;
    }

    /// @notice The owner's limits. Amounts are in base units of the cash token.
    /// @param minTrade smaller trades are left out
    /// @param maxTrade value of one trade
    /// @param maxTurnover value of all trades of a period
    /// @param period seconds; periods begin at multiples of it
    /// @param maxPriceAge seconds after which the feed's prices are too old to trade by
    /// @param maxSlippageBps how much worse than the feed's price a trade may be
    struct Limits {
        uint256 minTrade;
        uint256 maxTrade;
        uint256 maxTurnover;
        uint256 period;
        uint256 maxPriceAge;
        uint256 maxSlippageBps;
    }

    /// @notice A way from cash to an asset; backwards for sales.
    struct Route {
        string name;
        address[] path;
    }

    /// @notice A trade that was made.
    struct Trade {
        uint256 asset;
        bool isBuy;
        uint256 assetAmount;
        uint256 cashAmount;
        string route;
    }

    event Traded(uint256 indexed asset, bool isBuy, uint256 assetAmount, uint256 cashAmount, string route);
    event AgentSet(address agent, address trader);
    event LimitsSet(Limits limits);
    event ShareLimitSet(uint256 indexed asset, uint256 maxShareBps);

    /// @notice Somebody else than the trader tried to trade.
    error NotTrader(address caller);

    /// @notice The limits contradict themselves, or a share is above 100 %.
    error InvalidLimits();

    /// @notice A token of the desk is none of the feed's next asset.
    error AssetMismatch(uint256 asset);

    /// @notice A route goes from cash to the asset through up to `MAX_PATH - 2` tokens.
    error InvalidRoute(uint256 asset);

    /// @notice Another number of shares than the desk has assets.
    error WrongShareCount(uint256 given, uint256 wanted);

    /// @notice An asset's share would be above its limit.
    error PositionLimitExceeded(uint256 asset, uint256 shareBps, uint256 mostBps);

    /// @notice The best route is worse than the slippage allows.
    /// @param amount what a sale pays out, or a purchase costs
    /// @param bound the least that a sale may pay out, or the most that a purchase may cost
    error SlippageTooHigh(uint256 asset, bool isBuy, uint256 amount, uint256 bound);

    /// @notice No route has a price for the trade.
    error NoRoute(uint256 asset);

    /// @notice The feed's prices are too old.
    error PriceTooOld(uint256 updatedAt);

    uint256 private constant BPS = 10_000;

    /// @dev Bounds the gas of a trade: each route is asked for its price.
    uint256 private constant MAX_ROUTES = 4;

    uint256 private constant MAX_PATH = 4;

    IUniswapV2Router public immutable router;
    PriceFeed public immutable feed;
    IERC20 public immutable cash;
    uint256 private immutable priceUnit;
    uint256 private immutable cashUnit;

    /// @notice Runs the trader.
    address public agent;

    /// @notice The only contract that may trade.
    address public trader;

    /// @notice The owner's limits.
    Limits public limits;

    /// @notice The assets, as the feed has them.
    Asset[] public assets;

    /// @notice Value that was traded, by number of the period.
    mapping(uint256 period => uint256) public turnoverOf;

    mapping(uint256 asset => Route[]) private routes;

    /// @param owner sets limits and takes tokens back
    constructor(address owner, IUniswapV2Router _router, PriceFeed _feed, IERC20 _cash, Limits memory _limits)
        Ownable(owner)
    {
        router = _router;
        feed = _feed;
        cash = _cash;
        priceUnit = 10 ** uint256(_feed.decimals());
        cashUnit = 10 ** uint256(IERC20Metadata(address(_cash)).decimals());
        _setLimits(_limits);
    }

    /// @notice Adds the token of the feed's next asset. For the owner.
    function addAsset(IERC20 token, uint256 maxShareBps) external onlyOwner {
        uint256 asset = assets.length;
        if (asset >= feed.assetCount() || address(token) == address(cash)) revert AssetMismatch(asset);
        for (uint256 i = 0; i < asset; i++) {
            if (address(assets[i].token) == address(token)) revert AssetMismatch(asset);
        }
        if (maxShareBps > BPS) revert InvalidLimits();
        assets.push(Asset(token, 10 ** uint256(IERC20Metadata(address(token)).decimals()), maxShareBps));
        emit ShareLimitSet(asset, maxShareBps);
    }

    /// @notice Adds a route to an asset. For the owner.
    /// @param name what results call it, such as "via DAI"
    /// @param between the tokens between cash and the asset; none for their own pool
    function addRoute(uint256 asset, string memory name, address[] memory between) external onlyOwner {
        bool isRoom = asset < assets.length && routes[asset].length < MAX_ROUTES && between.length <= MAX_PATH - 2;
        if (!isRoom) revert InvalidRoute(asset);
        Route storage route = routes[asset].push();
        route.name = name;
        route.path.push(address(cash));
        for (uint256 i = 0; i < between.length; i++) route.path.push(between[i]);
        route.path.push(address(assets[asset].token));
    }

    /// @notice Removes all routes to an asset. For the owner.
    function removeRoutes(uint256 asset) external onlyOwner {
        delete routes[asset];
    }

    /// @notice Names the agent and its tool that trades. For the owner.
    function setAgent(address _agent, address _trader) external onlyOwner {
        agent = _agent;
        trader = _trader;
        emit AgentSet(_agent, _trader);
    }

    /// @notice Sets the limits of trades. For the owner.
    function setLimits(Limits memory _limits) external onlyOwner {
        _setLimits(_limits);
    }

    /// @notice Sets the largest share of an asset. For the owner.
    function setShareLimit(uint256 asset, uint256 maxShareBps) external onlyOwner {
        if (maxShareBps > BPS) revert InvalidLimits();
        assets[asset].maxShareBps = maxShareBps;
        emit ShareLimitSet(asset, maxShareBps);
    }

    /// @notice Stops all trades. For the owner.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Allows trades again. For the owner.
    function unpause() external onlyOwner {
        _unpause();
    }

    /// @notice Sends tokens of the desk. For the owner.
    function withdraw(IERC20 token, address to, uint256 amount) external onlyOwner {
        token.safeTransfer(to, amount);
    }

    /// @notice Returns the number of assets.
    function assetCount() external view returns (uint256) {
        return assets.length;
    }

    /// @notice Returns the routes to an asset.
    function getRoutes(uint256 asset) external view returns (Route[] memory) {
        return routes[asset];
    }

    /// @notice Returns the value of cash and assets, and of each asset, at the feed's prices.
    function values() public view returns (uint256 total, uint256[] memory ofAssets) {
        ofAssets = new uint256[](assets.length);
        total = cash.balanceOf(address(this));
        for (uint256 i = 0; i < ofAssets.length; i++) {
            ofAssets[i] = _valueOf(i, assets[i].token.balanceOf(address(this)));
            total += ofAssets[i];
        }
    }

    /// @notice Trades toward shares of the desk's value, sales first. For the trader.
    /// @dev Each trade goes as far as its limits allow. Purchases stop below the share's limit by the slippage that the
    ///   trade may cost, so that the share holds after it as well.
    /// @param sharesBps one for each asset; none above the asset's limit
    function rebalance(uint256[] memory sharesBps)
        external
        nonReentrant
        whenNotPaused
        returns (Trade[] memory trades)
    {
        if (msg.sender != trader) revert NotTrader(msg.sender);
        if (sharesBps.length != assets.length) revert WrongShareCount(sharesBps.length, assets.length);
        if (block.timestamp > feed.updatedAt() + limits.maxPriceAge) revert PriceTooOld(feed.updatedAt());
        for (uint256 i = 0; i < sharesBps.length; i++) {
            uint256 most = assets[i].maxShareBps;
            if (sharesBps[i] > most) revert PositionLimitExceeded(i, sharesBps[i], most);
        }
        trades = new Trade[](2 * sharesBps.length);
        uint256 count = _trade(sharesBps, trades, 0, false);
        count = _trade(sharesBps, trades, count, true);
        _requireShares(trades, count);
        assembly ("memory-safe") {
            mstore(trades, count)
        }
    }

    /// @dev Makes all sales, or all purchases; returns the number of trades so far.
    function _trade(uint256[] memory sharesBps, Trade[] memory trades, uint256 count, bool isBuy)
        private
        returns (uint256)
    {
        (uint256 total, uint256[] memory ofAssets) = values();
        for (uint256 i = 0; i < sharesBps.length; i++) {
            uint256 aim = total * sharesBps[i] / BPS;
            uint256 most = total * (BPS - limits.maxSlippageBps) / BPS * assets[i].maxShareBps / BPS;
            if (isBuy && aim > most) aim = most;
            if (isBuy ? aim <= ofAssets[i] : aim >= ofAssets[i]) continue;
            uint256 value = _allowed(isBuy ? aim - ofAssets[i] : ofAssets[i] - aim, isBuy);
            if (value == 0 || value < limits.minTrade) continue;
            turnoverOf[block.timestamp / limits.period] += value;
            trades[count++] = isBuy ? _buy(i, value) : _sell(i, value);
        }
        return count;
    }

    /// @dev Returns how much of a trade the limits allow.
    function _allowed(uint256 value, bool isBuy) private view returns (uint256) {
        uint256 used = turnoverOf[block.timestamp / limits.period];
        uint256 left = used < limits.maxTurnover ? limits.maxTurnover - used : 0;
        value = Math.min(value, Math.min(left, limits.maxTrade));
        if (!isBuy) return value;
        return Math.min(value, cash.balanceOf(address(this)) * BPS / (BPS + limits.maxSlippageBps));
    }

    function _sell(uint256 asset, uint256 value) private returns (Trade memory trade) {
        IERC20 token = assets[asset].token;
        uint256 amount = Math.min(_amountOf(asset, value), token.balanceOf(address(this)));
        uint256 least = _valueOf(asset, amount) * (BPS - limits.maxSlippageBps) / BPS;
        (uint256 best, uint256 quote) = _bestSale(asset, amount);
        if (quote < least) revert SlippageTooHigh(asset, false, quote, least);

        uint256 before = cash.balanceOf(address(this));
        token.forceApprove(address(router), amount);
        address[] memory path = _reversed(routes[asset][best].path);
        router.swapExactTokensForTokens(amount, quote, path, address(this), block.timestamp);
        token.forceApprove(address(router), 0);
        uint256 received = cash.balanceOf(address(this)) - before;
        if (received < least) revert SlippageTooHigh(asset, false, received, least);
        return _made(asset, false, amount, received, best);
    }

    function _buy(uint256 asset, uint256 value) private returns (Trade memory trade) {
        IERC20 token = assets[asset].token;
        uint256 amount = _amountOf(asset, value);
        uint256 most = _valueOf(asset, amount) * (BPS + limits.maxSlippageBps) / BPS;
        (uint256 best, uint256 quote) = _bestPurchase(asset, amount);
        if (quote > most) revert SlippageTooHigh(asset, true, quote, most);

        uint256 cashBefore = cash.balanceOf(address(this));
        uint256 tokensBefore = token.balanceOf(address(this));
        cash.forceApprove(address(router), quote);
        router.swapTokensForExactTokens(amount, quote, routes[asset][best].path, address(this), block.timestamp);
        cash.forceApprove(address(router), 0);
        uint256 paid = cashBefore - cash.balanceOf(address(this));
        uint256 received = token.balanceOf(address(this)) - tokensBefore;
        most = _valueOf(asset, received) * (BPS + limits.maxSlippageBps) / BPS;
        if (paid > most) revert SlippageTooHigh(asset, true, paid, most);
        return _made(asset, true, received, paid, best);
    }

    function _made(uint256 asset, bool isBuy, uint256 assetAmount, uint256 cashAmount, uint256 route)
        private
        returns (Trade memory trade)
    {
        trade = Trade(asset, isBuy, assetAmount, cashAmount, routes[asset][route].name);
        emit Traded(asset, isBuy, assetAmount, cashAmount, trade.route);
    }

    /// @dev Asks each route what a sale pays out; a route that refuses has no price.
    function _bestSale(uint256 asset, uint256 amount) private view returns (uint256 best, uint256 quote) {
        Route[] storage known = routes[asset];
        for (uint256 i = 0; i < known.length; i++) {
            try router.getAmountsOut(amount, _reversed(known[i].path)) returns (uint256[] memory amounts) {
                uint256 found = amounts[amounts.length - 1];
                if (found > quote) (best, quote) = (i, found);
            } catch {}
        }
        if (quote == 0) revert NoRoute(asset);
    }

    /// @dev Asks each route what a purchase costs; a route that refuses has no price.
    function _bestPurchase(uint256 asset, uint256 amount) private view returns (uint256 best, uint256 quote) {
        Route[] storage known = routes[asset];
        for (uint256 i = 0; i < known.length; i++) {
            try router.getAmountsIn(amount, known[i].path) returns (uint256[] memory amounts) {
                if (quote == 0 || amounts[0] < quote) (best, quote) = (i, amounts[0]);
            } catch {}
        }
        if (quote == 0) revert NoRoute(asset);
    }

    /// @dev Insists on the share limit of each asset that was bought.
    function _requireShares(Trade[] memory trades, uint256 count) private view {
        (uint256 total, uint256[] memory ofAssets) = values();
        for (uint256 i = 0; i < count; i++) {
            uint256 asset = trades[i].asset;
            uint256 most = assets[asset].maxShareBps;
            if (trades[i].isBuy && ofAssets[asset] * BPS > most * total) {
                revert PositionLimitExceeded(asset, Math.ceilDiv(ofAssets[asset] * BPS, total), most);
            }
        }
    }

    /// @dev Value of an amount of an asset, rounded down.
    function _valueOf(uint256 asset, uint256 amount) private view returns (uint256) {
        return Math.mulDiv(amount, feed.priceOf(asset) * cashUnit, assets[asset].unit * priceUnit);
    }

    /// @dev Amount of an asset for a value, rounded down.
    function _amountOf(uint256 asset, uint256 value) private view returns (uint256) {
        return Math.mulDiv(value, assets[asset].unit * priceUnit, feed.priceOf(asset) * cashUnit);
    }

    function _reversed(address[] memory path) private pure returns (address[] memory back) {
        back = new address[](path.length);
        for (uint256 i = 0; i < path.length; i++) back[i] = path[path.length - 1 - i];
    }

    function _setLimits(Limits memory _limits) private {
        bool isValid = _limits.minTrade <= _limits.maxTrade && _limits.maxTrade <= _limits.maxTurnover
            && _limits.period > 0 && _limits.maxSlippageBps < BPS;
        if (!isValid) revert InvalidLimits();
        limits = _limits;
        emit LimitsSet(_limits);
    }
}
