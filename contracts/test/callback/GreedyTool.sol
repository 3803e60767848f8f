// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";

/// @title A tool without parameters that needs much gas, fails, or returns too much
contract GreedyTool is IERCAgentTool {
    /// @dev Write: one new storage slot for each of `amount`. Fail: the same, then revert. Return: `amount` bytes, all
    ///   zero. ReturnText: a result of `amount` characters.
    enum Behaviour {
        Write,
        WriteThenRevert,
        Return,
        RevertWith,
        ReturnText,
        BurnGas
    }

    error ToolRefused();

    /// @notice A call that this tool made failed.
    error CallFailed(bytes reason);

    Behaviour public immutable behaviour;
    uint256 public immutable amount;

    /// @notice How many calls are between `run` and the work.
    uint256 public immutable depth;

    uint256[] private written;

    constructor(Behaviour _behaviour, uint256 _amount, uint256 _depth) {
        behaviour = _behaviour;
        amount = _amount;
        depth = _depth;
    }

    function name() external pure returns (string memory) {
        return "GreedyTool";
    }

    function description() external pure returns (string memory) {
        return "Needs much";
    }

    function inputDescription() external pure returns (InputDescription memory description_) {}

    function run(Input memory, address) external returns (int256, string memory) {
        if (behaviour == Behaviour.ReturnText) return (-1, string(new bytes(amount)));
        uint256 size = amount;
        if (behaviour == Behaviour.Return) {
            assembly {
                return(0, size)
            }
        }
        if (behaviour == Behaviour.RevertWith) {
            assembly {
                revert(0, size)
            }
        }
        if (behaviour == Behaviour.BurnGas) {
            assembly {
                invalid()
            }
        }
        work(depth);
        if (behaviour == Behaviour.WriteThenRevert) revert ToolRefused();
        return (-1, "Done");
    }

    /// @notice Writes, after this many calls of itself.
    function work(uint256 calls) public {
        if (calls == 0) {
            for (uint256 i = 0; i < amount; i++) written.push(i + 1);
            return;
        }
        (bool success, bytes memory reason) = address(this).call(abi.encodeCall(this.work, (calls - 1)));
        if (!success) revert CallFailed(reason);
    }
}
