// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {OwnedToken} from "@pyevm-agents/contracts/examples/swap/OwnedToken.sol";
import {ExecuteTradeTool} from "@pyevm-agents/contracts/examples/trading/ExecuteTradeTool.sol";
import {IUniswapV2Router} from "@pyevm-agents/contracts/examples/trading/IUniswapV2Router.sol";
import {PriceFeed} from "@pyevm-agents/contracts/examples/trading/PriceFeed.sol";
import {TradingDesk} from "@pyevm-agents/contracts/examples/trading/TradingDesk.sol";
import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";
import {IModelOutput} from "@pyevm-agents/contracts/interfaces/IModelOutput.sol";

interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function prank(address sender) external;
    function readFile(string calldata path) external view returns (string memory);
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function toString(uint256 value) external pure returns (string memory);
    function warp(uint256 timestamp) external;
    function writeLine(string calldata path, string calldata data) external;
}

interface IFactory {
    function getPair(address first, address second) external view returns (address);
}

interface IRouter is IUniswapV2Router {
    function addLiquidity(
        address first,
        address second,
        uint256 firstWanted,
        uint256 secondWanted,
        uint256 firstLeast,
        uint256 secondLeast,
        address to,
        uint256 deadline
    ) external returns (uint256, uint256, uint256);
}

Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @title Stands for the optimizer: any weights
contract AnyWeights is IModelOutput {
    int256[] private weights;

    function set(int256 first, int256 second) external {
        weights = [first, second];
    }

    function lastOutput(address) external view returns (int256[] memory) {
        return weights;
    }
}

/// @title Does at random whatever moves a desk's tokens or prices, and counts what its trades moved
/// @notice It owns the desk and the feed. Every call may be refused.
contract Actors {
    uint256 private constant BPS = 10_000;
    uint256 private constant PRICE_UNIT = 1e8;
    address private constant AGENT = address(0xA6E47);
    address private constant STRANGER = address(0x57A6);

    IFactory public factory;
    IRouter public router;
    PriceFeed public feed;
    TradingDesk public desk;
    ExecuteTradeTool public tool;
    AnyWeights private optimizer = new AnyWeights();

    OwnedToken[4] public tokens; // USDT, ETH, BTC, DAI
    uint256[4] private units = [uint256(1e6), 1e18, 1e8, 1e18];
    address[] private pairs;

    /// @notice What the desk has by its trades and by gifts alone, of USDT, ETH and BTC.
    uint256[3] public expected;
    uint256 public trades;
    uint256 public refused;

    uint256 private time = 1_000_000;
    uint128[2] private prices = [uint128(600 * PRICE_UNIT), uint128(60_000 * PRICE_UNIT)];

    constructor() {
        VM.warp(time);
        factory = IFactory(_deploy("UniswapV2Factory", abi.encode(address(this))));
        router = IRouter(_deploy("UniswapV2Router02", abi.encode(factory, _deploy("WETH9", ""))));
        for (uint256 i = 0; i < 4; i++) {
            string memory symbol = ["USDT", "ETH", "BTC", "DAI"][i];
            tokens[i] = new OwnedToken(symbol, symbol, [6, 18, 8, 18][i], address(this));
            tokens[i].mint(address(this), 1e9 * units[i]);
            tokens[i].approve(address(router), type(uint256).max);
        }
        _addPool(0, 6_000_000, 1, 10_000);
        _addPool(3, 30_000_000, 1, 50_000);
        _addPool(0, 40_000_000, 3, 40_000_000);
        _addPool(0, 6_000_000, 2, 100);
        _addPool(3, 600_000, 2, 10);
        string[] memory symbols = new string[](2);
        (symbols[0], symbols[1]) = ("ETH", "BTC");
        feed = new PriceFeed(address(this), "view_prices", symbols, "USDT", 8);
        _push();
        TradingDesk.Limits memory limits = TradingDesk.Limits(10e6, 20_000e6, 50_000e6, 3600, 3600, 100);
        desk = new TradingDesk(address(this), router, feed, tokens[0], limits);
        address[] memory between = new address[](1);
        between[0] = address(tokens[3]);
        for (uint256 i = 0; i < 2; i++) {
            desk.addAsset(tokens[i + 1], [uint256(5000), 3000][i]);
            desk.addRoute(i, "directly", new address[](0));
            desk.addRoute(i, "via DAI", between);
        }
        tool = new ExecuteTradeTool(desk, optimizer, address(this));
        desk.setAgent(AGENT, address(tool));
        _give(0, 100_000e6);
    }

    // ---- The agent

    /// @notice Trades toward any weights, four of five times at the pools' own prices.
    function rebalance(int256 first, int256 second, uint256 kind) external {
        if (kind % 5 != 0) pushPoolPrices();
        optimizer.set(_weight(0, first, kind), _weight(1, second, kind / 4));
        uint256[3] memory before = held();
        uint256 turnover = _turnover();
        VM.recordLogs();
        VM.prank(AGENT);
        try tool.run(_noInput(), address(0)) {
            _checkTrades(before, _turnover() - turnover);
        } catch (bytes memory reason) {
            _requireKnown(reason);
            refused++;
            require(_equal(held(), before), "a refused rebalance moved tokens");
        }
    }

    /// @notice Everybody but the agent is refused by the tool, and everybody but the tool by the desk.
    function rebalanceByOthers(address caller, int256 first) external {
        if (caller == AGENT || caller == address(tool)) caller = STRANGER;
        optimizer.set(_weight(0, first, 1), 0);
        uint256[] memory shares = new uint256[](2);
        bytes memory call = abi.encodeCall(TradingDesk.rebalance, (shares));
        _requireRefused(caller, address(desk), call, TradingDesk.NotTrader.selector);
        _requireRefused(AGENT, address(desk), call, TradingDesk.NotTrader.selector);
        _requireRefused(address(this), address(desk), call, TradingDesk.NotTrader.selector);
        call = abi.encodeCall(ExecuteTradeTool.run, (_noInput(), address(0)));
        _requireRefused(caller, address(tool), call, ExecuteTradeTool.NotAgent.selector);
    }

    // ---- Others

    /// @notice Swaps up to a tenth of a pool.
    function swap(uint256 pool, bool back, uint256 share, bool toDesk) external {
        (OwnedToken from, OwnedToken to) = _tokensOf(pool % pairs.length);
        if (back) (from, to) = (to, from);
        uint256 amount = from.balanceOf(pairs[pool % pairs.length]) * (share % 1000 + 1) / BPS;
        address[] memory path = new address[](2);
        (path[0], path[1]) = (address(from), address(to));
        uint256 place = _placeOf(to);
        bool isGift = toDesk && share % 10 == 0 && place < 3;
        uint256[] memory amounts = router.swapExactTokensForTokens(
            amount, 0, path, isGift ? address(desk) : address(this), type(uint256).max
        );
        if (isGift) expected[place] += amounts[1];
    }

    /// @notice Gives tokens to the desk.
    function give(uint256 token, uint256 share) external {
        token %= 3;
        _give(token, [uint256(1000e6), 1e18, 1e6][token] * (share % 1000) / 1000);
    }

    // ---- Prices and time

    /// @notice Moves the feed's prices by up to a fifth, within the thousandth and the thousandfold.
    function pushPrices(uint256 first, uint256 second) external {
        (prices[0], prices[1]) = (_moved(prices[0], first), _moved(prices[1], second));
        _push();
    }

    /// @notice Pushes the prices of the pools with USDT.
    function pushPoolPrices() public {
        for (uint256 i = 0; i < 2; i++) {
            address pair = pairs[i == 0 ? 0 : 3];
            uint256 ofToken = tokens[i + 1].balanceOf(pair);
            uint256 price = tokens[0].balanceOf(pair) * PRICE_UNIT * units[i + 1] / (ofToken * units[0]);
            if (price > 0) prices[i] = uint128(price);
        }
        _push();
    }

    function passTime(uint256 seconds_) external {
        time += seconds_ % 5400;
        VM.warp(time);
    }

    // ---- The owner

    function setLimits(uint256 trade, uint256 turnover, uint256 slippage) external {
        uint256 most = 1000e6 + trade % 30_000e6;
        desk.setLimits(TradingDesk.Limits(10e6, most, most + turnover % 60_000e6, 3600, 3600, slippage % 300));
    }

    function setShareLimit(uint256 asset, uint256 shareBps) external {
        desk.setShareLimit(asset % 2, shareBps % (BPS + 1));
    }

    // ---- What is counted

    /// @notice What the desk holds of USDT, ETH and BTC.
    function held() public view returns (uint256[3] memory amounts) {
        for (uint256 i = 0; i < 3; i++) amounts[i] = tokens[i].balanceOf(address(desk));
    }

    /// @notice Insists that each token is in the pools, at the desk or here, and none at the router.
    function requireWhole() external view {
        for (uint256 i = 0; i < 4; i++) {
            uint256 sum = tokens[i].balanceOf(address(desk)) + tokens[i].balanceOf(address(this));
            for (uint256 j = 0; j < pairs.length; j++) sum += tokens[i].balanceOf(pairs[j]);
            require(sum == 1e9 * units[i], "tokens were created, or went elsewhere");
            require(tokens[i].allowance(address(desk), address(router)) == 0, "an allowance is left");
        }
    }

    // ---- Private

    /// @dev Checks the trades of a rebalance against the limits, by what they moved.
    function _checkTrades(uint256[3] memory before, uint256 turnover) private {
        (, uint256 maxTrade, uint256 maxTurnover,,, uint256 slippage) = desk.limits();
        Vm.Log[] memory logs = VM.getRecordedLogs();
        uint256[3] memory afterwards = [before[0], before[1], before[2]];
        uint256 sum;
        bool[2] memory isBought;
        for (uint256 i = 0; i < logs.length; i++) {
            if (logs[i].emitter != address(desk)) continue;
            uint256 asset = uint256(logs[i].topics[1]);
            (bool isBuy, uint256 amount, uint256 paid,) = abi.decode(logs[i].data, (bool, uint256, uint256, string));
            uint256 value = _valueOf(asset, amount);
            require(value <= maxTrade, "a trade is above its limit");
            if (isBuy) {
                isBought[asset] = true;
                require(paid <= value * (BPS + slippage) / BPS, "a purchase is too dear");
                (afterwards[0], afterwards[asset + 1]) = (afterwards[0] - paid, afterwards[asset + 1] + amount);
            } else {
                require(paid >= value * (BPS - slippage) / BPS, "a sale is too cheap");
                (afterwards[0], afterwards[asset + 1]) = (afterwards[0] + paid, afterwards[asset + 1] - amount);
            }
            (sum, trades) = (sum + value, trades + 1);
        }
        require(_equal(held(), afterwards), "the desk does not hold what its trades say");
        require(sum <= turnover, "trades are above what the desk counted");
        require(turnover == 0 || _turnover() <= maxTurnover, "the turnover is above its limit");
        _checkShares(isBought);
        for (uint256 i = 0; i < 3; i++) expected[i] = expected[i] + afterwards[i] - before[i];
    }

    function _checkShares(bool[2] memory isBought) private view {
        uint256[3] memory amounts = held();
        uint256[2] memory ofAssets = [_valueOf(0, amounts[1]), _valueOf(1, amounts[2])];
        uint256 total = amounts[0] + ofAssets[0] + ofAssets[1];
        for (uint256 i = 0; i < 2; i++) {
            (,, uint256 most) = desk.assets(i);
            require(!isBought[i] || ofAssets[i] * BPS <= most * total, "a position is above its limit");
        }
    }

    function _requireRefused(address caller, address to, bytes memory call, bytes4 selector) private {
        VM.prank(caller);
        (bool success, bytes memory reason) = to.call(call);
        require(!success && bytes4(reason) == selector, "somebody else than the agent traded");
    }

    function _requireKnown(bytes memory reason) private pure {
        bytes4 selector = bytes4(reason);
        bool isKnown = selector == TradingDesk.SlippageTooHigh.selector || selector == TradingDesk.NoRoute.selector
            || selector == TradingDesk.PriceTooOld.selector || selector == TradingDesk.PositionLimitExceeded.selector
            || selector == ExecuteTradeTool.NegativeWeight.selector;
        require(isKnown, "an unknown error");
    }

    /// @dev Any number, the asset's limit, or one of the shares below the limits of the start.
    function _weight(uint256 asset, int256 any, uint256 kind) private view returns (int256) {
        if (kind % 16 == 0) return any;
        (,, uint256 most) = desk.assets(asset);
        return int256(kind % 4 == 1 ? most : uint256(any) % 5001);
    }

    function _moved(uint128 price, uint256 by) private pure returns (uint128) {
        uint256 moved = uint256(price) * (8000 + by % 4001) / BPS;
        return moved < PRICE_UNIT || moved > 1e8 * PRICE_UNIT ? price : uint128(moved);
    }

    function _turnover() private view returns (uint256) {
        return desk.turnoverOf(time / 3600);
    }

    function _valueOf(uint256 asset, uint256 amount) private view returns (uint256) {
        return amount * prices[asset] * units[0] / (units[asset + 1] * PRICE_UNIT);
    }

    function _equal(uint256[3] memory left, uint256[3] memory right) private pure returns (bool) {
        return keccak256(abi.encode(left)) == keccak256(abi.encode(right));
    }

    function _give(uint256 token, uint256 amount) private {
        tokens[token].transfer(address(desk), amount);
        expected[token] += amount;
    }

    function _push() private {
        uint128[] memory pushed = new uint128[](2);
        (pushed[0], pushed[1]) = (prices[0], prices[1]);
        feed.push(pushed);
    }

    function _noInput() private pure returns (IERCAgentTool.Input memory input) {}

    function _tokensOf(uint256 pool) private view returns (OwnedToken, OwnedToken) {
        return (tokens[[0, 3, 0, 0, 3][pool]], tokens[[1, 1, 3, 2, 2][pool]]);
    }

    function _placeOf(OwnedToken token) private view returns (uint256 place) {
        while (tokens[place] != token) place++;
    }

    function _addPool(uint256 first, uint256 firstTokens, uint256 second, uint256 secondTokens) private {
        (uint256 ofFirst, uint256 ofSecond) = (firstTokens * units[first], secondTokens * units[second]);
        (address left, address right) = (address(tokens[first]), address(tokens[second]));
        router.addLiquidity(left, right, ofFirst, ofSecond, 0, 0, address(this), type(uint256).max);
        pairs.push(factory.getPair(left, right));
    }

    function _deploy(string memory name, bytes memory arguments) private returns (address account) {
        string memory json = VM.readFile(string.concat("uniswap_v2/", name, ".json"));
        bytes memory code = bytes.concat(VM.parseJsonBytes(json, ".bytecode"), arguments);
        assembly ("memory-safe") {
            account := create(0, add(code, 32), mload(code))
        }
        require(account != address(0), name);
    }
}

contract TradingDeskTest {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    Actors private actors;

    function setUp() external {
        actors = new Actors();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(actors);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        bytes4[9] memory selectors = [
            Actors.rebalanceByOthers.selector,
            Actors.swap.selector,
            Actors.give.selector,
            Actors.pushPrices.selector,
            Actors.pushPoolPrices.selector,
            Actors.passTime.selector,
            Actors.setLimits.selector,
            Actors.setShareLimit.selector,
            Actors.rebalance.selector
        ];
        targets = new FuzzSelector[](1);
        targets[0].addr = address(actors);
        targets[0].selectors = new bytes4[](9);
        for (uint256 i = 0; i < 9; i++) targets[0].selectors[i] = selectors[i];
    }

    function invariant_TheDeskHoldsWhatItsTradesMoved() external view {
        uint256[3] memory amounts = actors.held();
        for (uint256 i = 0; i < 3; i++) require(amounts[i] == actors.expected(i), "money was created or lost");
        actors.requireWhole();
    }

    /// @notice Runs at the end of each sequence.
    function afterInvariant() external {
        VM.writeLine("counts.txt", string.concat(VM.toString(actors.trades()), " ", VM.toString(actors.refused())));
    }
}
