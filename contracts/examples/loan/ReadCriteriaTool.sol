// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {TransientValues} from "../../libraries/TransientValues.sol";
import {LendingPool} from "./LendingPool.sol";
import {LoanTool} from "./LoanTool.sol";

/// @title Reads today's criteria of the DAO
/// @notice It notes for which application somebody read them, until the end of the transaction. Anybody may run it while an
///   application is open.
contract ReadCriteriaTool is LoanTool {
    /// @param _pool whose policy has the criteria
    constructor(LendingPool _pool) LoanTool(_pool) {}

    function name() external pure returns (string memory) {
        return "read_criteria";
    }

    function description() external pure returns (string memory) {
        return "Reads the criteria of the DAO";
    }

    function inputDescription() external pure returns (InputDescription memory input) {}

    /// @notice Reads the criteria; answers for example "Criteria: Check the repayments and count the defaults".
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        _requireNoInput(input);
        int256[] memory read = new int256[](1);
        read[0] = int256(pool.openApplication().id);
        TransientValues.keep(msg.sender, read);
        return (-1, string.concat("Criteria: ", pool.policy().criteria()));
    }

    /// @notice Tells whether an account has read the criteria for the open application, in this transaction.
    function hasRead(address reader) external view returns (bool) {
        (bool isKept, int256[] memory read) = TransientValues.read(reader);
        return isKept && read[0] == int256(pool.openApplication().id);
    }
}
