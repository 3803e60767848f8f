// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Who won which match, as its owner enters it
contract ScoreBoard is Ownable {
    /// @notice The match has a winner.
    error AlreadyEntered(string game, string winner);

    /// @notice Nobody entered a winner.
    error NotEntered(string game);

    /// @notice A winner was entered.
    event WinnerEntered(string game, string winner);

    mapping(string game => string) private winners;

    constructor(address owner) Ownable(owner) {}

    /// @notice Enters a winner, once. For the owner.
    function enter(string calldata game, string calldata winner) external onlyOwner {
        if (bytes(winners[game]).length > 0) revert AlreadyEntered(game, winners[game]);
        winners[game] = winner;
        emit WinnerEntered(game, winner);
    }

    /// @notice Returns who won a match.
    function winnerOf(string calldata game) external view returns (string memory winner) {
        winner = winners[game];
        if (bytes(winner).length == 0) revert NotEntered(game);
    }
}
