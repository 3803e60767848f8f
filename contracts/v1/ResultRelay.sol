// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AbiString} from "../libraries/AbiString.sol";

/// @title Runs a tool for somebody else, and hands on a result that comes later
/// @notice A tool calls its result handler itself, and an agent takes a result from the tool that it ran alone. So a contract
///   between them is the handler of the one and the tool of the other.
abstract contract ResultRelay {
    /// @notice Somebody else than the tool's agent tried to run it.
    error CallerNotAgent(address caller);

    /// @notice The tool returned something else than a run ID and a string.
    /// @param size the number of bytes it returned
    error MalformedResult(address tool, uint256 size);

    /// @notice The tool returned a run ID that is below -1 in version 2: of no meaning in either version.
    error MalformedRunId(address tool, uint256 runId);

    /// @notice No run waits for this result of this sender.
    error UnexpectedResult(address sender, uint256 runId);

    /// @notice The only address that may run the tool; zero: everybody.
    address public immutable agent;

    address private immutable inner;

    /// @dev Who gets the result of a run, and who gets one that comes before `run` returns.
    mapping(uint256 runId => address) private handlerOf;
    address private handlerInCall;
    bool private isDelivered;

    constructor(address _inner, address _agent) {
        inner = _inner;
        agent = _agent;
    }

    /// @dev The handler for the tool: this contract, or nobody where nobody waits.
    function _handler(address resultHandler) internal view returns (address) {
        return resultHandler == address(0) ? address(0) : address(this);
    }

    /// @dev Calls the tool; returns a run ID and a string, encoded. The tool's own revert data are passed on.
    function _relay(bytes memory data, address resultHandler) internal returns (bytes memory) {
        if (agent != address(0) && msg.sender != agent) revert CallerNotAgent(msg.sender);
        (address outerHandler, bool outerDelivered) = (handlerInCall, isDelivered);
        (handlerInCall, isDelivered) = (resultHandler, false);
        (bool success, bytes memory output) = inner.call(data);
        bool wasDelivered = isDelivered;
        (handlerInCall, isDelivered) = (outerHandler, outerDelivered);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
        if (!AbiString.isAt(output, 1)) revert MalformedResult(inner, output.length);
        uint256 runId = abi.decode(output, (uint256));
        if (runId != type(uint256).max && runId > uint256(type(int256).max)) revert MalformedRunId(inner, runId);
        if (runId != type(uint256).max && resultHandler != address(0) && !wasDelivered) handlerOf[runId] = resultHandler;
        return output;
    }

    /// @dev The handler of a result that the tool hands in; each is taken once.
    function _takeHandler(uint256 runId) internal returns (address handler) {
        if (msg.sender != inner) revert UnexpectedResult(msg.sender, runId);
        handler = handlerOf[runId];
        if (handler != address(0)) {
            delete handlerOf[runId];
            return handler;
        }
        handler = handlerInCall;
        if (handler == address(0) || isDelivered) revert UnexpectedResult(msg.sender, runId);
        isDelivered = true;
    }
}
