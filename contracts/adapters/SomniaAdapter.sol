// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {DataAsCode} from "../callback/DataAsCode.sol";
import {IAgentOracle} from "../callback/IAgentOracle.sol";
import {Outcome} from "../callback/IAgentOracleClient.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {
    ConsensusType,
    ISomniaAgents,
    Request,
    Response,
    ResponseStatus
} from "./ISomniaAgents.sol";
import {OracleAdapter} from "./OracleAdapter.sol";
import {SomniaTranslator} from "./SomniaTranslator.sol";

/// @title Answers contracts that were written for Somnia's language model agent
/// @notice Give such a contract this address where it expects SomniaAgents. A request is one step of the executor.
///   - `inferString`: the system prompt is the base prompt. Allowed values stand at the end of the prompt; an answer that
///     is none of them is Failed.
///   - `inferNumber`: likewise with the range. The result is the first integer of the answer; one outside of the range is
///     moved to its end, and an answer without one is Failed.
///   - `inferChat`: system messages are the base prompt. One user message is the prompt; several messages are lines that
///     begin with their roles.
///   - `inferToolsChat`: each on-chain tool becomes a YieldedTool with the parameters of its signature. The model's choice
///     comes back as `tool_calls` with one call, as calldata. Its thought comes as an `assistant` message. Asked again
///     with a `tool` message after it, the model goes on from there.
///
///   Not published, so chosen here: how values, ranges and conversations become a prompt, the IDs of calls (`call_1`, …), what an
///   `assistant` message of a call holds, and that a request is refused when it is made, where its payload is malformed.
///   Different from Somnia: one worker answers; receipts are zero; `chainOfThought` and `maxIterations` change nothing,
///   as the executor always thinks and yields each call; MCP servers are refused, as the executor has no network;
///   refunds wait for `sendRefund`.
contract SomniaAdapter is OracleAdapter, ISomniaAgents {
    /// @dev What a contract asked.
    struct Asked {
        address callbackAddress;
        bytes4 callbackSelector;
        ConsensusType consensusType;
        address payload;
        uint128 threshold;
        ResponseStatus status;
        address[] tools;
    }

    /// @notice Another agent than the language model.
    error AgentNotServed(uint256 agentId);

    /// @notice Somnia's number of its language model agent.
    uint256 public constant LANGUAGE_MODEL_AGENT = 12847293847561029384;

    /// @notice The model that answers, as the executor names it.
    string public modelId;

    /// @notice Gas of the callback that each contract gets.
    uint32 public immutable callbackGasLimit;

    /// @notice Seconds in which the oracle must answer, where a request does not say.
    uint32 public immutable defaultTimeout;

    /// @notice Turns payloads into steps of the executor, and its answers into results.
    SomniaTranslator public immutable translator = new SomniaTranslator();

    mapping(uint256 requestId => Asked) private asked;

    constructor(IAgentOracle _oracle, string memory _modelId, uint32 _callbackGasLimit, uint32 _defaultTimeout)
        OracleAdapter(_oracle, 1_500_000)
    {
        modelId = _modelId;
        callbackGasLimit = _callbackGasLimit;
        defaultTimeout = _defaultTimeout;
    }

    // ---- Requests

    /// @inheritdoc ISomniaAgents
    function createRequest(uint256 agentId, address callbackAddress, bytes4 callbackSelector, bytes calldata payload)
        external
        payable
        returns (uint256 requestId)
    {
        return _create(
            agentId, callbackAddress, callbackSelector, payload, 1, ConsensusType.Majority, defaultTimeout
        );
    }

    /// @inheritdoc ISomniaAgents
    function createAdvancedRequest(
        uint256 agentId,
        address callbackAddress,
        bytes4 callbackSelector,
        bytes calldata payload,
        uint256,
        uint256 threshold,
        ConsensusType consensusType,
        uint256 timeout
    ) external payable returns (uint256 requestId) {
        uint32 time = timeout == 0 ? defaultTimeout : uint32(Math.min(timeout, 7 days));
        return _create(agentId, callbackAddress, callbackSelector, payload, uint128(threshold), consensusType, time);
    }

    // ---- Views

    /// @inheritdoc ISomniaAgents
    function getRequest(uint256 requestId) external view returns (Request memory request) {
        if (!hasRequest(requestId)) revert UnknownRequest(requestId);
        Response[] memory responses = new Response[](0);
        if (asked[requestId].status >= ResponseStatus.Success) {
            (Outcome outcome, bytes memory output,,) = oracle.answerOf(queries[requestId].oracleRequestId);
            (responses,) = _responses(requestId, outcome, output);
        }
        return _request(requestId, responses);
    }

    /// @inheritdoc ISomniaAgents
    function hasRequest(uint256 requestId) public view returns (bool) {
        return asked[requestId].status != ResponseStatus.None;
    }

    /// @inheritdoc ISomniaAgents
    function getRequestDeposit() public view returns (uint256) {
        return _feeOf(callbackGasLimit);
    }

    /// @inheritdoc ISomniaAgents
    function getAdvancedRequestDeposit(uint256) external view returns (uint256) {
        return getRequestDeposit();
    }

    // ---- Private: requests

    function _create(
        uint256 agentId,
        address callbackAddress,
        bytes4 callbackSelector,
        bytes calldata payload,
        uint128 threshold,
        ConsensusType consensusType,
        uint32 timeout
    ) private returns (uint256 requestId) {
        if (agentId != LANGUAGE_MODEL_AGENT) revert AgentNotServed(agentId);
        (bytes memory arguments, IERCAgentTool[] memory tools) = _prepare(payload);
        requestId = _ask(arguments, callbackAddress, callbackGasLimit, timeout);
        Asked storage one = asked[requestId];
        one.callbackAddress = callbackAddress;
        one.callbackSelector = callbackSelector;
        one.consensusType = consensusType;
        one.payload = DataAsCode.write(payload);
        one.threshold = threshold;
        one.status = ResponseStatus.Pending;
        for (uint256 i = 0; i < tools.length; i++) {
            one.tools.push(address(tools[i]));
        }
        emit RequestCreated(requestId, agentId, queries[requestId].fee, payload, new address[](0));
    }

    function _prepare(bytes calldata payload) private returns (bytes memory, IERCAgentTool[] memory) {
        try translator.prepare(modelId, payload) returns (bytes memory arguments, IERCAgentTool[] memory tools) {
            return (arguments, tools);
        } catch (bytes memory reason) {
            if (reason.length == 0) revert SomniaTranslator.MalformedPayload(bytes4(payload));
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    // ---- Private: answers

    /// @inheritdoc OracleAdapter
    function _callbackOf(uint256 requestId, Outcome outcome, bytes memory output)
        internal
        override
        returns (bytes memory)
    {
        (Response[] memory responses, ResponseStatus status) = _responses(requestId, outcome, output);
        if (asked[requestId].status == ResponseStatus.Pending) {
            asked[requestId].status = status;
            emit RequestFinalized(requestId, status);
        }
        return abi.encodeWithSelector(
            asked[requestId].callbackSelector, requestId, responses, status, _request(requestId, responses)
        );
    }

    function _responses(uint256 requestId, Outcome outcome, bytes memory output)
        private
        view
        returns (Response[] memory responses, ResponseStatus status)
    {
        if (outcome == Outcome.Expired) return (new Response[](0), ResponseStatus.TimedOut);
        bytes memory result = output;
        status = ResponseStatus.Failed;
        if (outcome == Outcome.Answered) {
            // Where it runs out of gas, too little is left for the contract's call as well, and all reverts.
            Asked storage one = asked[requestId];
            try translator.resultOf(DataAsCode.read(one.payload), one.tools, output) returns (bytes memory found) {
                (result, status) = (found, ResponseStatus.Success);
            } catch (bytes memory reason) {
                result = reason;
            }
        }
        (,, address worker,) = oracle.answerOf(queries[requestId].oracleRequestId);
        responses = new Response[](1);
        responses[0] = Response(worker, result, status, 0, block.timestamp, queries[requestId].fee);
    }

    function _request(uint256 requestId, Response[] memory responses) private view returns (Request memory request) {
        Asked storage one = asked[requestId];
        Query storage query = queries[requestId];
        request.id = requestId;
        request.requester = query.account;
        request.callbackAddress = one.callbackAddress;
        request.callbackSelector = one.callbackSelector;
        request.subcommittee = new address[](responses.length);
        if (responses.length > 0) request.subcommittee[0] = responses[0].validator;
        request.responses = responses;
        request.responseCount = responses.length;
        request.failureCount = one.status == ResponseStatus.Failed ? 1 : 0;
        request.threshold = one.threshold;
        request.createdAt = query.createdAt;
        request.deadline = query.deadline;
        request.status = one.status;
        request.consensusType = one.consensusType;
        request.perAgentBudget = query.fee;
    }
}
