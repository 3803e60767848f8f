// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {ScoreBoard} from "./ScoreBoard.sol";

/// @title Tells an agent whether a team won a match of a score board
/// @notice Anybody may run it.
contract CheckWinnerTool is IERCAgentTool {
    /// @notice The tool has other parameters.
    error UnexpectedInput(string reason);

    /// @notice Where winners are entered.
    ScoreBoard public immutable board;

    /// @notice The match.
    string public game;

    /// @param _board which has the winner
    /// @param _game the match, as the board has it
    constructor(ScoreBoard _board, string memory _game) {
        (board, game) = (_board, _game);
    }

    function name() external pure returns (string memory) {
        return "check_winner";
    }

    function description() external pure returns (string memory) {
        return "Checks whether a team won the cup final";
    }

    function inputDescription() external pure returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = ParamDescription(ParamType.STRING, "team", "name of the team");
    }

    /// @notice Answers "yes" or "no".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external view returns (int256 runId, string memory result) {
        bool isOne = input.params.length == 1 && input.params[0].paramType == ParamType.STRING;
        if (!isOne) revert UnexpectedInput("one STRING expected");
        string memory team = abi.decode(input.params[0].value, (string));
        return (-1, Strings.equal(board.winnerOf(game), team) ? "yes" : "no");
    }
}
