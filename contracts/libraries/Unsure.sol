// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Answers that ask back
/// @notice Where the executor's gate withholds an action, the run's answer begins with `UNSURE:`. The same holds for any
///   contract or model that writes such an answer.
library Unsure {
    /// @notice The agent asks back, and its contract undoes a run in doubt.
    /// @param answer the agent's answer: the choices, and the steps already done
    error UnsureAnswer(string answer);

    /// @notice Tells whether an answer begins with `UNSURE:`. Letter case counts; a blank before it makes it another text.
    function isUnsure(string memory answer) internal pure returns (bool) {
        return bytes7(bytes(answer)) == "UNSURE:";
    }

    /// @notice Reverts with `UnsureAnswer` if an answer begins with `UNSURE:`.
    function requireSure(string memory answer) internal pure {
        if (isUnsure(answer)) revert UnsureAnswer(answer);
    }

    /// @notice Adds the steps already done to an answer: `<answer>; done before: <tool>: <result>; …`
    /// @param reasoning thought, action and action input of each step
    /// @param results the tools' results
    /// @param steps how many steps are named, from the first
    function addSteps(string memory answer, string[] memory reasoning, string[] memory results, uint256 steps)
        internal
        pure
        returns (string memory)
    {
        for (uint256 i = 0; i < steps; i++) {
            string memory start = i == 0 ? "; done before: " : "; ";
            answer = string.concat(answer, start, _toolName(bytes(reasoning[i])), ": ", results[i]);
        }
        return answer;
    }

    /// @dev The second line of a reasoning is `Action: ` and the tool's name. Empty where there is no second line.
    function _toolName(bytes memory reasoning) private pure returns (string memory) {
        uint256 start = _lineEnd(reasoning, 0) + 9; // the line break and `Action: `
        uint256 end = _lineEnd(reasoning, start);
        if (end <= start) return "";
        bytes memory toolName = new bytes(end - start);
        for (uint256 i = start; i < end; i++) toolName[i - start] = reasoning[i];
        return string(toolName);
    }

    function _lineEnd(bytes memory text, uint256 position) private pure returns (uint256 end) {
        assembly ("memory-safe") {
            end := position
            for {} lt(end, mload(text)) { end := add(end, 1) } {
                if eq(byte(0, mload(add(add(text, 32), end))), 10) { break }
            }
        }
    }
}
