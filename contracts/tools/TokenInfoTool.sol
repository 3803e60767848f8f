// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERC20} from "../interfaces/IERC20.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AbiString} from "../libraries/AbiString.sol";
import {Decimal} from "../libraries/Decimal.sol";

/// @title Tells an agent what token lives at an address
/// @notice It has no state and changes none, so one deployment serves every agent. The name and the symbol are
///   the token's own claim: any contract can call itself "USD Coin".
contract TokenInfoTool is IERCAgentTool {
    /// @notice The input is not one parameter of type ADDRESS.
    error UnexpectedInput(string reason);

    /// @inheritdoc IERCAgentTool
    function name() external pure returns (string memory) {
        return "TokenInfoTool";
    }

    /// @inheritdoc IERCAgentTool
    function description() external pure returns (string memory) {
        return "See the name, symbol and decimals of a token";
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory) {
        ParamDescription[] memory params = new ParamDescription[](1);
        params[0] = ParamDescription(ParamType.ADDRESS, "asset", "address of the token");
        return InputDescription(params);
    }

    /// @notice Answers for example "USD Coin (USDC), 6 decimals", or that the address isn't a token's.
    /// @dev Not a token is an answer and not a revert: the agent may have asked to find out.
    function run(Input memory input, address) external view returns (int256 runId, string memory result) {
        if (input.abiEncodedParams.length != 32 || uint256(bytes32(input.abiEncodedParams)) >> 160 != 0) {
            revert UnexpectedInput("one ADDRESS expected");
        }
        return (-1, _describe(abi.decode(input.abiEncodedParams, (address))));
    }

    function _describe(address asset) private view returns (string memory) {
        (bool named, bytes memory tokenName) = asset.staticcall(abi.encodeCall(IERC20.name, ()));
        (bool hasSymbol, bytes memory symbol) = asset.staticcall(abi.encodeCall(IERC20.symbol, ()));
        (bool counted, bytes memory decimals) = asset.staticcall(abi.encodeCall(IERC20.decimals, ()));
        if (
            !named || !hasSymbol || !counted || !AbiString.isAt(tokenName, 0) || !AbiString.isAt(symbol, 0)
                || decimals.length < 32
        ) {
            return "This is not a token";
        }
        return string.concat(
            abi.decode(tokenName, (string)),
            " (",
            abi.decode(symbol, (string)),
            "), ",
            Decimal.toString(abi.decode(decimals, (uint256))),
            " decimals"
        );
    }
}
