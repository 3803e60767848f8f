// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title Runs two agents, or one agent twice, in one transaction
contract RunTwice {
    event Answered(string answer);
    event Failed(bytes reason);

    /// @notice Runs both, and reverts with the reason of the one that fails.
    function runBoth(IERCAgentTool first, string memory firstPrompt, IERCAgentTool second, string memory secondPrompt)
        external
        returns (string memory firstAnswer, string memory secondAnswer)
    {
        (, firstAnswer) = first.run(_input(firstPrompt), address(0));
        (, secondAnswer) = second.run(_input(secondPrompt), address(0));
        emit Answered(firstAnswer);
        emit Answered(secondAnswer);
    }

    /// @notice Runs the first and undoes all it did, then runs the second.
    function runUndoneThenRun(
        IERCAgentTool first,
        string memory firstPrompt,
        IERCAgentTool second,
        string memory secondPrompt
    ) external returns (string memory answer) {
        try this.runAndFail(first, firstPrompt) {}
        catch (bytes memory reason) {
            emit Failed(reason);
        }
        (, answer) = second.run(_input(secondPrompt), address(0));
        emit Answered(answer);
    }

    /// @notice Runs the agent, then reverts with its answer.
    error Undone(string answer);

    function runAndFail(IERCAgentTool agent, string memory prompt) external {
        (, string memory answer) = agent.run(_input(prompt), address(0));
        revert Undone(answer);
    }

    function _input(string memory prompt) private pure returns (IERCAgentTool.Input memory) {
        IERCAgentTool.ParamValue[] memory params = new IERCAgentTool.ParamValue[](1);
        params[0] = IERCAgentTool.ParamValue(IERCAgentTool.ParamType.STRING, abi.encode(prompt));
        return IERCAgentTool.Input(params, abi.encode(prompt));
    }
}
