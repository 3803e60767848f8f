// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Whether an agent's run is done
/// @notice A run is done unless its answer begins with one of six texts. They are those of `precompiles/outcome.py`.
///
///   | beginning | whose |
///   |---|---|
///   | `UNSURE:` | the gate withheld an action and asks back |
///   | `I can't ` | a model declines a part of the request |
///   | `I cannot ` | a model gives the reason of the base prompt why it declines |
///   | `Failed` | a model says that a step failed |
///   | `Error` | a model or a tool reports an error |
///   | `FAILED:` | a CallbackAgent's run ended without an answer |
///
///   Letter case counts; a blank before it makes it another text. Any contract or model may write such an answer.
library RunOutcome {
    /// @notice The run is not done. Everything that its tools did is undone.
    /// @param answer the agent's answer: the reason, and the steps before it
    error NotDone(string answer);

    /// @notice Tells whether a run with this answer, or a tool with this result, did what was asked.
    function isDone(string memory answer) internal pure returns (bool) {
        bytes32 start = bytes32(bytes(answer));
        bool isDeclined = bytes8(start) == "I can't " || bytes9(start) == "I cannot ";
        bool hasFailed = bytes6(start) == "Failed" || bytes5(start) == "Error" || bytes7(start) == "FAILED:";
        return !(isDeclined || hasFailed || bytes7(start) == "UNSURE:");
    }

    /// @notice Reverts with `NotDone` if a run with this answer is not done.
    function requireDone(string memory answer) internal pure {
        if (!isDone(answer)) revert NotDone(answer);
    }

    /// @notice Reads the answer in the revert data of an agent that undid its run: of `NotDone`, with an answer that is not
    ///   done. So nobody's revert passes for a result.
    /// @return isNotDone false for all other data
    /// @return answer shares its memory with the data
    function readNotDone(bytes memory data) internal pure returns (bool isNotDone, string memory answer) {
        // Selector, offset, length, text.
        if (data.length < 68 || bytes4(data) != NotDone.selector) return (false, "");
        uint256 offset;
        uint256 size;
        assembly ("memory-safe") {
            offset := mload(add(data, 36))
            size := mload(add(data, 68))
        }
        if (offset != 32 || size > data.length - 68) return (false, "");
        assembly ("memory-safe") {
            answer := add(data, 68)
        }
        isNotDone = !isDone(answer);
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
