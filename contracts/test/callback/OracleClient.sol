// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAgentOracleClient, Outcome} from "../../callback/IAgentOracleClient.sol";

/// @title A client that calls its oracle as a test asks, and misbehaves in its callbacks
contract OracleClient is IAgentOracleClient {
    /// @dev Write: one new storage slot for each of `slots`, so that a callback needs a known amount of gas.
    enum Behaviour {
        Take,
        Revert,
        RevertWithMegabyte,
        ReturnMegabyte,
        BurnGas,
        Write
    }

    /// @notice The callback came.
    event AnswerHandled(uint256 indexed requestId, Outcome outcome, bytes output);

    /// @notice The callback called the oracle.
    event OracleCalled(bool success, bytes returned);

    /// @notice The client doesn't want the answer.
    error AnswerRefused(uint256 requestId);

    /// @notice Somebody else than the oracle handed in an answer.
    error NotOracle(address caller);

    address public immutable oracle;

    Behaviour public behaviour;
    uint256 public slots;
    uint256[] private written;
    bytes[] private calls;

    constructor(address _oracle) {
        oracle = _oracle;
    }

    /// @notice Takes wei, and then calls the oracle as its callback does.
    receive() external payable {
        _callOracle();
    }

    /// @notice Calls the oracle with this calldata; passes its revert data on.
    function callOracle(bytes calldata data) external payable returns (bytes memory output) {
        bool success;
        (success, output) = oracle.call{value: msg.value}(data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
    }

    /// @notice Sets what the next callbacks do.
    function behave(Behaviour _behaviour, uint256 _slots) external {
        behaviour = _behaviour;
        slots = _slots;
    }

    /// @notice Sets with which calldata the next callbacks call the oracle.
    function reenterWith(bytes[] memory _calls) external {
        delete calls;
        for (uint256 i = 0; i < _calls.length; i++) calls.push(_calls[i]);
    }

    /// @inheritdoc IAgentOracleClient
    function handleAnswer(uint256 requestId, Outcome outcome, bytes calldata output) external {
        if (msg.sender != oracle) revert NotOracle(msg.sender);
        emit AnswerHandled(requestId, outcome, output);
        _callOracle();
        if (behaviour == Behaviour.Revert) revert AnswerRefused(requestId);
        if (behaviour == Behaviour.BurnGas) {
            assembly {
                invalid()
            }
        }
        if (behaviour == Behaviour.ReturnMegabyte) {
            assembly {
                return(0, 1048576)
            }
        }
        if (behaviour == Behaviour.RevertWithMegabyte) {
            assembly {
                revert(0, 1048576)
            }
        }
        if (behaviour == Behaviour.Write) for (uint256 i = 0; i < slots; i++) written.push(i + 1);
    }

    function _callOracle() private {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, bytes memory returned) = oracle.call(calls[i]);
            emit OracleCalled(success, returned);
        }
    }
}
