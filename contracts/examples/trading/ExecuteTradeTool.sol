// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {IModelOutput} from "../../interfaces/IModelOutput.sol";
import {FixedPointText} from "../../libraries/FixedPointText.sol";
import {PriceFeed} from "./PriceFeed.sol";
import {TradingDesk} from "./TradingDesk.sol";

/// @title Trades toward the weights that the optimizer found in this transaction
/// @notice Only the desk's agent may run it. It has no parameters: the model chooses to trade, and nothing else. Without
///   weights the run reverts with `NoOutput`.
contract ExecuteTradeTool is IERCAgentTool {
    /// @notice Somebody else than the desk's agent tried to run it.
    error NotAgent(address caller);

    /// @notice The tool has no parameters.
    error UnexpectedInput(string reason);

    /// @notice A weight is below zero.
    error NegativeWeight(int256 weight);

    /// @dev Decimals that amounts are shown with.
    uint256 private constant SHOWN = 4;

    TradingDesk public immutable desk;

    /// @notice Whose weights, in hundredths of a percent.
    IModelOutput public immutable optimizer;

    /// @notice Who ran the optimizer.
    address public immutable optimizerAgent;

    constructor(TradingDesk _desk, IModelOutput _optimizer, address _optimizerAgent) {
        desk = _desk;
        optimizer = _optimizer;
        optimizerAgent = _optimizerAgent;
    }

    /// @inheritdoc IERCAgentTool
    function name() external pure returns (string memory) {
        return "execute_trade";
    }

    /// @inheritdoc IERCAgentTool
    function description() external pure returns (string memory) {
        return "Trades toward the target weights";
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @notice Trades; answers for example "Bought 0.5210 ETH for 312.4000 USDT via DAI".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (msg.sender != desk.agent()) revert NotAgent(msg.sender);
        if (input.params.length != 0) revert UnexpectedInput("no parameters expected");
        int256[] memory weights = optimizer.lastOutput(optimizerAgent);
        uint256[] memory sharesBps = new uint256[](weights.length);
        for (uint256 i = 0; i < weights.length; i++) {
            if (weights[i] < 0) revert NegativeWeight(weights[i]);
            sharesBps[i] = uint256(weights[i]);
        }
        return (-1, _tell(desk.rebalance(sharesBps)));
    }

    function _tell(TradingDesk.Trade[] memory trades) private view returns (string memory text) {
        if (trades.length == 0) return "No trade: the target is reached, or the limits allow none";
        PriceFeed feed = desk.feed();
        for (uint256 i = 0; i < trades.length; i++) {
            TradingDesk.Trade memory trade = trades[i];
            (, uint256 unit,) = desk.assets(trade.asset);
            string memory verb = trade.isBuy ? "Bought " : "Sold ";
            string memory amount = _amount(trade.assetAmount, _digitsOf(unit));
            string memory money = _amount(trade.cashAmount, IERC20Metadata(address(desk.cash())).decimals());
            text = string.concat(text, i == 0 ? "" : "; ", verb, amount, " ", feed.symbols(trade.asset));
            text = string.concat(text, " for ", money, " ", feed.cashSymbol(), " ", trade.route);
        }
    }

    function _amount(uint256 value, uint8 decimals) private pure returns (string memory) {
        return FixedPointText.format(int256(value), decimals, decimals < SHOWN ? decimals : uint8(SHOWN));
    }

    function _digitsOf(uint256 unit) private pure returns (uint8 digits) {
        for (; unit > 1; unit /= 10) digits++;
    }
}
