// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IERCAgentClientV1} from "../../v1/interfaces/IERCAgentClientV1.sol";
import {IERCAgentToolV1} from "../../v1/interfaces/IERCAgentToolV1.sol";

/// @title A version-1 tool that counts; an asynchronous one if it is set so
contract CounterToolV1 is IERCAgentToolV1, ERC165 {
    uint256 public number;
    string public toolName = "CounterToolV1";
    address public handler;
    bool public isAsynchronous;
    bool public isEarly;
    uint256 public nextRunId;

    /// @notice Makes the next runs asynchronous, with the result before or after `run` returns.
    function setAsynchronous(bool _isAsynchronous, bool _isEarly, uint256 runId) external {
        (isAsynchronous, isEarly, nextRunId) = (_isAsynchronous, _isEarly, runId);
    }

    /// @notice Changes the tool's name.
    function rename(string calldata name_) external {
        toolName = name_;
    }

    /// @notice Hands a result to the handler of the last run.
    function hand(uint256 runId, string memory result) public {
        IERCAgentClientV1(handler).handleAgentResult(runId, result);
    }

    /// @inheritdoc IERCAgentToolV1
    function name() external view returns (string memory) {
        return toolName;
    }

    /// @inheritdoc IERCAgentToolV1
    function description() external pure returns (string memory) {
        return "Adds a number to the counter";
    }

    /// @inheritdoc IERCAgentToolV1
    function inputDescription() external pure returns (InputDescription memory input) {
        input.paramDescriptions = new ParamDescription[](1);
        input.paramDescriptions[0] = ParamDescription(ParamType.UINT, "amount", "the number to add");
    }

    /// @inheritdoc IERCAgentToolV1
    function run(Input memory input, address resultHandler) external returns (uint256, string memory) {
        number += abi.decode(input.params[0].value, (uint256));
        handler = resultHandler;
        string memory result = string.concat("The counter is: ", Strings.toString(number));
        if (!isAsynchronous) return (type(uint256).max, result);
        if (isEarly) hand(nextRunId, result);
        return (nextRunId, "");
    }

    /// @notice Tells which interfaces this tool has.
    function supportsInterface(bytes4 interfaceId) public view override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentToolV1).interfaceId || super.supportsInterface(interfaceId);
    }
}
