// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentClient} from "../../interfaces/IERCAgentClient.sol";

/// @title A result handler that starts runs, and misbehaves when their results come
contract ResultHandler is IERCAgentClient {
    enum Behaviour {
        Take,
        Revert,
        RevertWithMegabyte,
        BurnGas
    }

    /// @notice A result came.
    event ResultHandled(address indexed sender, int256 indexed runId, string result);

    /// @notice The handler called somebody back.
    event CalledBack(bool success, bytes returned);

    error ResultRefused(int256 runId);

    Behaviour public behaviour;
    address private target;
    bytes private data;

    receive() external payable {}

    /// @notice Sets what the next results meet.
    function behave(Behaviour _behaviour) external {
        behaviour = _behaviour;
    }

    /// @notice Sets whom the next results make it call.
    function callBack(address _target, bytes calldata _data) external {
        target = _target;
        data = _data;
    }

    /// @notice Calls somebody as this contract; passes revert data on.
    function call(address to, bytes calldata calldata_) external payable returns (bytes memory output) {
        bool success;
        (success, output) = to.call{value: msg.value}(calldata_);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
    }

    /// @inheritdoc IERCAgentClient
    function handleAgentResult(int256 runId, string memory result) external {
        emit ResultHandled(msg.sender, runId, result);
        if (target != address(0)) {
            (bool success, bytes memory returned) = target.call(data);
            emit CalledBack(success, returned);
        }
        if (behaviour == Behaviour.Revert) revert ResultRefused(runId);
        if (behaviour == Behaviour.RevertWithMegabyte) {
            assembly {
                revert(0, 1048576)
            }
        }
        if (behaviour == Behaviour.BurnGas) {
            assembly {
                invalid()
            }
        }
    }
}
