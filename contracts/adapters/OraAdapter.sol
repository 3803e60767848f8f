// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {DataAsCode} from "../callback/DataAsCode.sol";
import {IAgentOracle} from "../callback/IAgentOracle.sol";
import {Outcome} from "../callback/IAgentOracleClient.sol";
import {AgentIterationResult, IERCAgentExecutor} from "../interfaces/IERCAgentExecutor.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {IAIOracle} from "./IAIOracle.sol";
import {IAIOracleCallbackReceiver} from "./IAIOracleCallbackReceiver.sol";
import {OracleAdapter} from "./OracleAdapter.sol";

/// @title Answers contracts that were written for ORA's Onchain AI Oracle
/// @notice Give such a contract this address where it expects OAO's. What differs from OAO:
///   - a model number is served once the owner has named a model for it; the answer is this model's, not ORA's;
///   - an answer comes once, when the oracle has made it final. OAO may call again with another one after a challenge;
///   - a prompt that the executor refuses comes as `aiOracleCallbackError` with `InvalidInput` and the refusal;
///   - a request without an answer expires: its contract is not called, as OAO has no call for that, and its fee is
///     refundable;
///   - blobs, IPFS, batches and payment in tokens are refused or missing.
contract OraAdapter is OracleAdapter, IAIOracle, Ownable2Step {
    /// @notice What answers a model number.
    /// @param modelId as the executor names it; empty: the number is not served
    /// @param basePrompt comes before each input
    struct Model {
        string modelId;
        string basePrompt;
    }

    /// @notice The owner named a model.
    event ModelSet(uint256 indexed model, string modelId, string basePrompt);

    /// @notice The request expired; its fee is refundable.
    event RequestExpired(uint256 indexed requestId);

    /// @notice The owner has named no model for this number.
    error ModelNotServed(uint256 model);

    /// @notice The input is empty.
    error EmptyInput();

    /// @notice A callback contract needs a gas limit, and a gas limit a callback contract.
    error WrongGasLimit(address callbackContract, uint64 gasLimit);

    /// @notice Only calldata are served.
    error UnsupportedDataAvailability(DA inputDA, DA outputDA);

    /// @notice Seconds in which the oracle must answer.
    uint32 public immutable timeout;

    /// @notice Returns what answers a model number.
    mapping(uint256 model => Model) public models;

    mapping(uint256 requestId => address) private callbackDataOf;

    /// @param owner names models; it can touch nobody's wei
    constructor(address owner, IAgentOracle _oracle, uint32 _timeout) OracleAdapter(_oracle, 600_000) Ownable(owner) {
        timeout = _timeout;
    }

    /// @notice Names the model that answers a number; an empty name ends that. For the owner.
    function setModel(uint256 model, string memory modelId, string memory basePrompt) external onlyOwner {
        models[model] = Model(modelId, basePrompt);
        emit ModelSet(model, modelId, basePrompt);
    }

    /// @inheritdoc IAIOracle
    function requestCallback(
        uint256 modelId,
        bytes memory input,
        address callbackContract,
        uint64 gasLimit,
        bytes memory callbackData
    ) external payable returns (uint256 requestId) {
        requestId = _request(modelId, input, callbackContract, gasLimit, callbackData);
        emit AICallbackRequest(msg.sender, requestId, modelId, input, callbackContract, gasLimit, callbackData);
    }

    /// @inheritdoc IAIOracle
    function requestCallback(
        uint256 modelId,
        bytes memory input,
        address callbackContract,
        uint64 gasLimit,
        bytes memory callbackData,
        DA inputDA,
        DA outputDA
    ) external payable returns (uint256 requestId) {
        if (inputDA != DA.Calldata || outputDA != DA.Calldata) revert UnsupportedDataAvailability(inputDA, outputDA);
        requestId = _request(modelId, input, callbackContract, gasLimit, callbackData);
        emit AICallbackRequest(
            msg.sender, requestId, modelId, input, callbackContract, gasLimit, callbackData, inputDA, outputDA, 1
        );
    }

    /// @inheritdoc IAIOracle
    function estimateFee(uint256 modelId, uint256 gasLimit) external view returns (uint256) {
        _requireServed(modelId);
        return _feeOf(gasLimit);
    }

    /// @inheritdoc IAIOracle
    function isFinalized(uint256 requestId) external view returns (bool) {
        Outcome outcome = queries[requestId].outcome;
        return outcome == Outcome.Answered || outcome == Outcome.Refused;
    }

    /// @notice Decodes an answer, for this contract itself.
    function decodeIteration(bytes calldata output) external pure returns (AgentIterationResult memory) {
        return abi.decode(output, (AgentIterationResult));
    }

    function _request(
        uint256 model,
        bytes memory input,
        address callbackContract,
        uint64 gasLimit,
        bytes memory callbackData
    ) private returns (uint256 requestId) {
        _requireServed(model);
        if (input.length == 0) revert EmptyInput();
        if ((callbackContract == address(0)) != (gasLimit == 0)) revert WrongGasLimit(callbackContract, gasLimit);
        Model storage served = models[model];
        string[] memory none = new string[](0);
        bytes memory arguments = abi.encodeCall(
            IERCAgentExecutor.runNextIteration,
            (served.modelId, served.basePrompt, new IERCAgentTool[](0), none, none, string(input))
        );
        requestId = _ask(arguments, callbackContract, gasLimit, timeout);
        callbackDataOf[requestId] = DataAsCode.write(callbackData);
    }

    /// @inheritdoc OracleAdapter
    function _callbackOf(uint256 requestId, Outcome outcome, bytes memory output)
        internal
        override
        returns (bytes memory)
    {
        if (outcome == Outcome.Expired) {
            emit RequestExpired(requestId);
            return "";
        }
        bytes memory callbackData = DataAsCode.read(callbackDataOf[requestId]);
        if (outcome == Outcome.Answered) {
            try this.decodeIteration(output) returns (AgentIterationResult memory result) {
                bytes memory text = bytes(result.finalAnswer);
                emit AICallbackResult(queries[requestId].account, requestId, msg.sender, text);
                return abi.encodeCall(IAIOracleCallbackReceiver.aiOracleCallback, (requestId, text, callbackData));
            } catch {} // no AgentIterationResult
        }
        return abi.encodeCall(
            IAIOracleCallbackReceiver.aiOracleCallbackError,
            (requestId, IAIOracleCallbackReceiver.AIOracleError.InvalidInput, output, callbackData)
        );
    }

    function _requireServed(uint256 model) private view {
        if (bytes(models[model].modelId).length == 0) revert ModelNotServed(model);
    }
}
