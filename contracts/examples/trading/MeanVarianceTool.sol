// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {IModelOutput} from "../../interfaces/IModelOutput.sol";
import {FixedPointText} from "../../libraries/FixedPointText.sol";
import {TransientValues} from "../../libraries/TransientValues.sol";
import {MeanVariance} from "./MeanVariance.sol";
import {PriceFeed} from "./PriceFeed.sol";
import {TradingDesk} from "./TradingDesk.sol";

/// @title Finds the desk's weights for the forecast that its agent has in this transaction
/// @notice Correlations are those of the last 20 returns, with means of zero. Variances are those of a risk model, or
///   those of the returns if there is none. The weights are kept for the runner, in hundredths of a percent. Anybody may
///   run it.
contract MeanVarianceTool is IERCAgentTool, IModelOutput {
    /// @notice The tool has no parameters.
    error UnexpectedInput(string reason);

    /// @notice A model gave another number of values than the desk has assets.
    error WrongValueCount(uint256 given, uint256 wanted);

    /// @notice Returns of which the covariance is made.
    uint256 public constant WINDOW = 20;

    /// @dev From the 6 decimals of returns to 18.
    int256 private constant RETURN_SCALE = 1e12;

    /// @dev From the 12 decimals of products of returns to 18.
    int256 private constant SQUARE_SCALE = 1e6;

    int256 private constant BPS = 10_000;

    TradingDesk public immutable desk;

    /// @notice Gives the expected return of each asset, for the desk's agent, with 6 decimals.
    IModelOutput public immutable forecast;

    /// @notice A tool that gives the volatility of each asset, with 6 decimals; the zero address: none.
    address public immutable risk;

    /// @notice How much variance weighs, with 18 decimals.
    int256 public immutable riskAversion;

    /// @notice How much the square of a change weighs, with 18 decimals.
    int256 public immutable tradingCost;

    constructor(TradingDesk _desk, IModelOutput _forecast, address _risk, int256 _riskAversion, int256 _tradingCost) {
        desk = _desk;
        forecast = _forecast;
        risk = _risk;
        riskAversion = _riskAversion;
        tradingCost = _tradingCost;
    }

    /// @inheritdoc IERCAgentTool
    function name() external pure returns (string memory) {
        return "optimize_weights";
    }

    /// @inheritdoc IERCAgentTool
    function description() external pure returns (string memory) {
        return "Optimizes the weights of the portfolio by mean and variance";
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @inheritdoc IModelOutput
    function lastOutput(address runner) external view returns (int256[] memory weights) {
        bool isKept;
        (isKept, weights) = TransientValues.read(runner);
        if (!isKept) revert NoOutput(runner);
    }

    /// @notice Finds the weights; answers for example "Target: ETH 35.00 % (now 20.00 %), cash 65.00 %".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (input.params.length != 0) revert UnexpectedInput("no parameters expected");
        MeanVariance.Problem memory problem = _state();
        int256[] memory weights = MeanVariance.optimize(problem);
        for (uint256 i = 0; i < weights.length; i++) weights[i] = weights[i] * BPS / MeanVariance.ONE;
        TransientValues.keep(msg.sender, weights);
        return (-1, _tell(weights, problem.current));
    }

    function _state() private returns (MeanVariance.Problem memory problem) {
        uint256 count = desk.assetCount();
        (uint256 total, uint256[] memory ofAssets) = desk.values();
        problem.expected = forecast.lastOutput(desk.agent());
        if (problem.expected.length != count) revert WrongValueCount(problem.expected.length, count);
        problem.covariance = _covariance(count);
        problem.current = new int256[](count);
        problem.caps = new int256[](count);
        for (uint256 i = 0; i < count; i++) {
            problem.expected[i] *= RETURN_SCALE;
            (,, uint256 maxShareBps) = desk.assets(i);
            problem.caps[i] = int256(maxShareBps) * MeanVariance.ONE / BPS;
            if (total != 0) problem.current[i] = int256(Math.mulDiv(ofAssets[i], 1e18, total));
        }
        problem.budget = MeanVariance.ONE;
        problem.riskAversion = riskAversion;
        problem.tradingCost = tradingCost;
    }

    function _covariance(uint256 count) private returns (int256[] memory covariance) {
        int256[][] memory returns_ = new int256[][](count);
        PriceFeed feed = desk.feed();
        for (uint256 i = 0; i < count; i++) returns_[i] = feed.returnsOf(i, WINDOW);
        covariance = new int256[](count * count);
        for (uint256 i = 0; i < count; i++) {
            for (uint256 j = 0; j <= i; j++) {
                int256 sum = 0;
                for (uint256 t = 0; t < WINDOW; t++) sum += returns_[i][t] * returns_[j][t];
                covariance[i * count + j] = sum * SQUARE_SCALE / int256(WINDOW);
                covariance[j * count + i] = covariance[i * count + j];
            }
        }
        if (risk != address(0)) _rescale(covariance, _volatilities(count));
    }

    /// @dev Runs the risk model for this tool itself.
    function _volatilities(uint256 count) private returns (int256[] memory found) {
        Input memory nothing;
        IERCAgentTool(risk).run(nothing, address(0));
        found = IModelOutput(risk).lastOutput(address(this));
        if (found.length != count) revert WrongValueCount(found.length, count);
    }

    /// @dev Keeps the correlations and replaces the variances.
    function _rescale(int256[] memory covariance, int256[] memory volatilities) private pure {
        uint256 count = volatilities.length;
        int256[] memory deviations = new int256[](count); // with 9 decimals
        for (uint256 i = 0; i < count; i++) deviations[i] = int256(Math.sqrt(uint256(covariance[i * count + i])));
        for (uint256 i = 0; i < count; i++) {
            for (uint256 j = 0; j < count; j++) {
                int256 product = deviations[i] * deviations[j];
                int256 variance = volatilities[i] * volatilities[j] * SQUARE_SCALE;
                uint256 place = i * count + j;
                if (i == j) covariance[place] = variance;
                else covariance[place] = product == 0 ? int256(0) : covariance[place] * variance / product;
            }
        }
    }

    function _tell(int256[] memory weights, int256[] memory current) private view returns (string memory text) {
        PriceFeed feed = desk.feed();
        int256 cash = BPS;
        text = "Target: ";
        for (uint256 i = 0; i < weights.length; i++) {
            cash -= weights[i];
            int256 now_ = current[i] * BPS / MeanVariance.ONE;
            text = string.concat(text, feed.symbols(i), " ", FixedPointText.format(weights[i], 2, 2));
            text = string.concat(text, " % (now ", FixedPointText.format(now_, 2, 2), " %), ");
        }
        text = string.concat(text, "cash ", FixedPointText.format(cash, 2, 2), " %");
    }
}
