// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ICouncilClient} from "../../council/ICouncilClient.sol";

/// @title A contract that takes part in a council as it is told, and misbehaves when it is paid or called
contract CouncilParticipant is ICouncilClient {
    enum Behaviour {
        Accept,
        Revert,
        Reenter,
        BurnGas,
        ReturnMegabyte
    }

    /// @notice It was told to refuse.
    error Refused();

    /// @notice A callback came.
    event ResolutionHandled(uint256 requestId, bool resolved, bytes finalAnswer);

    /// @notice It called the oracle from inside of a call.
    event Reentered(bool success, bytes returned);

    Behaviour public behaviour;
    address public target;
    bytes public data;
    uint256 public times;

    /// @notice Sets what it does when wei arrive, or a callback comes.
    /// @param data_ for `Reenter`: the calldata with which it calls `target_`, `times_` times at most
    function behave(Behaviour behaviour_, address target_, bytes calldata data_, uint256 times_) external {
        (behaviour, target, data, times) = (behaviour_, target_, data_, times_);
    }

    /// @notice Calls a contract with the call's value, and reverts as it does.
    function call(address to, bytes calldata callData) external payable returns (bytes memory returned) {
        bool success;
        (success, returned) = to.call{value: msg.value}(callData);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(returned, 32), mload(returned))
            }
        }
    }

    receive() external payable {
        _behave();
    }

    /// @inheritdoc ICouncilClient
    function handleResolution(uint256 requestId, bool resolved, bytes calldata finalAnswer) external {
        emit ResolutionHandled(requestId, resolved, finalAnswer);
        _behave();
    }

    function _behave() private {
        if (behaviour == Behaviour.Revert) revert Refused();
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
        if (behaviour == Behaviour.Reenter && times > 0) {
            times--;
            (bool success, bytes memory returned) = target.call(data);
            emit Reentered(success, returned);
        }
    }
}
