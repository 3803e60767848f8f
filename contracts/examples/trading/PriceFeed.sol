// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {FixedPointText} from "../../libraries/FixedPointText.sol";

/// @title Prices of some assets, as their owner pushes them: for contracts, and as a tool
/// @notice A step is one push of all prices. The last `CAPACITY` steps are kept.
contract PriceFeed is IERCAgentTool, Ownable2Step {
    /// @notice A step was pushed.
    event PricesPushed(uint256 indexed step, uint128[] prices);

    /// @notice The feed has 1 to `MAX_ASSETS` assets.
    error WrongAssetCount(uint256 count);

    /// @notice Another number of prices than the feed has assets.
    error WrongPriceCount(uint256 given, uint256 wanted);

    /// @notice A price is above zero.
    error WrongPrice(uint256 asset, uint128 price);

    /// @notice There are fewer steps than were asked for.
    error NotEnoughPrices(uint256 have, uint256 wanted);

    /// @notice The tool has no parameters.
    error UnexpectedInput(string reason);

    /// @notice Assets of a feed. A desk's optimizer takes as many.
    uint256 public constant MAX_ASSETS = 8;

    /// @notice Steps that are kept: 20 returns for a model take 21.
    uint256 public constant CAPACITY = 32;

    /// @notice Decimals of returns.
    uint8 public constant RETURN_DECIMALS = 6;

    int256 private constant RETURN_UNIT = 1e6;

    /// @inheritdoc IERCAgentTool
    string public name;

    /// @notice What prices are in, such as "USDT".
    string public cashSymbol;

    /// @notice Decimals of prices: with 8, a price of 600.25 USDT for a whole token is 60025000000.
    uint8 public immutable decimals;

    /// @notice Symbol of each asset.
    string[] public symbols;

    /// @notice How many steps were pushed.
    uint256 public steps;

    /// @notice When the newest step was pushed, in Unix seconds.
    uint256 public updatedAt;

    uint128[MAX_ASSETS][CAPACITY] private prices;

    /// @param owner pushes prices
    constructor(address owner, string memory _name, string[] memory _symbols, string memory _cashSymbol, uint8 _decimals)
        Ownable(owner)
    {
        bool isServed = _symbols.length > 0 && _symbols.length <= MAX_ASSETS;
        if (!isServed) revert WrongAssetCount(_symbols.length);
        name = _name;
        symbols = _symbols;
        cashSymbol = _cashSymbol;
        decimals = _decimals;
    }

    /// @notice Adds a step: the price of each asset. For the owner.
    function push(uint128[] memory newPrices) external onlyOwner {
        if (newPrices.length != symbols.length) revert WrongPriceCount(newPrices.length, symbols.length);
        uint128[MAX_ASSETS] storage row = prices[steps % CAPACITY];
        for (uint256 i = 0; i < newPrices.length; i++) {
            if (newPrices[i] == 0) revert WrongPrice(i, 0);
            row[i] = newPrices[i];
        }
        emit PricesPushed(steps, newPrices);
        steps++;
        updatedAt = block.timestamp;
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory text) {
        text = "Shows the newest prices of ";
        for (uint256 i = 0; i < symbols.length; i++) text = string.concat(text, i == 0 ? "" : ", ", symbols[i]);
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @notice Answers for example "Prices: ETH 600.25 USDT (1.20 %), BTC 60000.00 USDT (-0.31 %)", with the last returns.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external view returns (int256 runId, string memory result) {
        if (input.params.length != 0) revert UnexpectedInput("no parameters expected");
        result = "Prices: ";
        for (uint256 i = 0; i < symbols.length; i++) {
            string memory price = FixedPointText.format(int256(uint256(priceOf(i))), decimals, _shown());
            result = string.concat(result, i == 0 ? "" : ", ", symbols[i], " ", price, " ", cashSymbol);
            if (steps > 1) {
                string memory change = FixedPointText.format(returnsOf(i, 1)[0], RETURN_DECIMALS - 2, 2);
                result = string.concat(result, " (", change, " %)");
            }
        }
        return (-1, result);
    }

    /// @notice Returns how many assets there are.
    function assetCount() external view returns (uint256) {
        return symbols.length;
    }

    /// @notice Returns the newest price of an asset.
    function priceOf(uint256 asset) public view returns (uint128) {
        return priceAgo(asset, 0);
    }

    /// @notice Returns the price of an asset some steps before the newest one.
    function priceAgo(uint256 asset, uint256 stepsAgo) public view returns (uint128) {
        uint256 have = steps < CAPACITY ? steps : CAPACITY;
        if (stepsAgo >= have) revert NotEnoughPrices(have, stepsAgo + 1);
        if (asset >= symbols.length) revert WrongAssetCount(asset + 1);
        return prices[(steps - 1 - stepsAgo) % CAPACITY][asset];
    }

    /// @notice Returns the last returns of an asset, the oldest first: `(p[i] - p[i-1]) * 10^6 / p[i-1]`, towards zero.
    function returnsOf(uint256 asset, uint256 count) public view returns (int256[] memory returns_) {
        returns_ = new int256[](count);
        uint128 before = priceAgo(asset, count);
        for (uint256 i = 0; i < count; i++) {
            uint128 next = priceAgo(asset, count - 1 - i);
            returns_[i] = _change(before, next);
            before = next;
        }
    }

    /// @notice Returns the change of an asset's price since some steps before: `(now - then) * 10^6 / then`, towards zero.
    function changeSince(uint256 asset, uint256 stepsAgo) external view returns (int256) {
        return _change(priceAgo(asset, stepsAgo), priceOf(asset));
    }

    function _change(uint128 before, uint128 next) private pure returns (int256) {
        return (int256(uint256(next)) - int256(uint256(before))) * RETURN_UNIT / int256(uint256(before));
    }

    function _shown() private view returns (uint8) {
        return decimals < 2 ? decimals : 2;
    }
}
