// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {KnowledgeBase} from "../../retrieval/KnowledgeBase.sol";

/// @title Presents texts of a knowledge base and runs a tool in the same transaction
contract Presenter {
    /// @notice Presents texts by id, then runs a tool with one STRING.
    function ask(
        KnowledgeBase base,
        uint256[] calldata ids,
        string[] calldata texts,
        IERCAgentTool tool,
        string calldata query
    ) external returns (string memory result) {
        for (uint256 i = 0; i < ids.length; i++) base.present(ids[i], texts[i]);
        IERCAgentTool.Input memory input;
        input.params = new IERCAgentTool.ParamValue[](1);
        input.params[0] = IERCAgentTool.ParamValue(IERCAgentTool.ParamType.STRING, abi.encode(query));
        input.abiEncodedParams = abi.encode(query);
        (, result) = tool.run(input, address(0));
    }
}
