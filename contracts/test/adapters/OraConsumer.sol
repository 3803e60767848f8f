// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAIOracle} from "../../adapters/IAIOracle.sol";
import {IAIOracleCallbackReceiver} from "../../adapters/IAIOracleCallbackReceiver.sol";

/// @title A contract as it is written for ORA's oracle: it knows nothing of adapters
contract OraConsumer is IAIOracleCallbackReceiver {
    error UnauthorizedCallbackSource(IAIOracle expected, IAIOracle found);
    error NotReady();

    IAIOracle public immutable aiOracle;
    uint256 public requestId;
    bytes public output;
    bytes public callbackData;
    bytes public message;
    uint256 public gasSeen;
    bool public fails;
    bool public asksAgain;

    constructor(IAIOracle _aiOracle) {
        aiOracle = _aiOracle;
    }

    receive() external payable {}

    modifier onlyAIOracle() {
        if (msg.sender != address(aiOracle)) revert UnauthorizedCallbackSource(aiOracle, IAIOracle(msg.sender));
        _;
    }

    function setFails(bool _fails) external {
        fails = _fails;
    }

    function setAsksAgain(bool _asksAgain) external {
        asksAgain = _asksAgain;
    }

    function ask(uint256 model, string memory prompt, uint64 gasLimit, bytes memory data) external payable {
        requestId =
            aiOracle.requestCallback{value: msg.value}(model, bytes(prompt), address(this), gasLimit, data);
    }

    function askWithDA(string memory prompt, uint64 gasLimit, IAIOracle.DA inputDA) external payable {
        requestId = aiOracle.requestCallback{value: msg.value}(
            11, bytes(prompt), address(this), gasLimit, "", inputDA, IAIOracle.DA.Calldata
        );
    }

    function aiOracleCallback(uint256 _requestId, bytes calldata _output, bytes calldata data)
        external
        onlyAIOracle
    {
        gasSeen = gasleft();
        if (fails) revert NotReady();
        requestId = _requestId;
        output = _output;
        callbackData = data;
        if (asksAgain) {
            asksAgain = false;
            uint256 fee = aiOracle.estimateFee(11, 200_000);
            requestId = aiOracle.requestCallback{value: fee}(11, "and again", address(this), 200_000, "");
        }
    }

    function aiOracleCallbackError(uint256 _requestId, AIOracleError, bytes calldata _message, bytes calldata data)
        external
        onlyAIOracle
    {
        requestId = _requestId;
        message = _message;
        callbackData = data;
    }
}
