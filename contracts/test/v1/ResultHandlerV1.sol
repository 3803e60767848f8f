// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IERCAgentClientV1} from "../../v1/interfaces/IERCAgentClientV1.sol";
import {IERCAgentToolV1} from "../../v1/interfaces/IERCAgentToolV1.sol";

/// @title Runs a version-1 agent and keeps the result that comes later
contract ResultHandlerV1 is IERCAgentClientV1, ERC165 {
    IERCAgentToolV1 public agent;
    uint256 public runId;
    string public result;
    uint256 public results;

    /// @notice Runs an agent with a prompt.
    function ask(IERCAgentToolV1 _agent, string calldata prompt) external returns (uint256) {
        agent = _agent;
        IERCAgentToolV1.Input memory input;
        input.params = new IERCAgentToolV1.ParamValue[](1);
        input.params[0] = IERCAgentToolV1.ParamValue(IERCAgentToolV1.ParamType.STRING, abi.encode(prompt));
        (runId,) = _agent.run(input, address(this));
        return runId;
    }

    /// @inheritdoc IERCAgentClientV1
    function handleAgentResult(uint256 _runId, string memory _result) external {
        require(msg.sender == address(agent));
        (runId, result) = (_runId, _result);
        results++;
    }

    /// @notice Tells which interfaces this contract has.
    function supportsInterface(bytes4 interfaceId) public view override(ERC165, IERC165) returns (bool) {
        return interfaceId == type(IERCAgentClientV1).interfaceId || super.supportsInterface(interfaceId);
    }
}
