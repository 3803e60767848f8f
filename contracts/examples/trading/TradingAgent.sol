// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERCAgent} from "../../IERCAgent.sol";
import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {DeskAgent} from "./DeskAgent.sol";
import {TradingTexts} from "./TradingTexts.sol";

/// @title Reads posts and trades a desk's funds by what its models say of them
/// @notice Its tools rate a post, forecast prices, ask an agent for weights, and trade toward them. All of it is one
///   transaction, undone together. What it may trade is the desk's decision.
contract TradingAgent is DeskAgent {
    /// @notice The post is empty or too long. Sizes are in bytes.
    error WrongPostSize(uint256 size, uint256 limit);

    /// @notice Bytes of a post: more than the posts of most networks have, and few enough for a text that is copied.
    uint256 public constant MAX_POST_BYTES = 600;

    /// @dev Four steps, the answer, and two more.
    uint16 private constant ITERATIONS = 7;

    /// @param owner runs the agent, and allows callers
    /// @param _agentExecutorContract a contract that implements IERCAgentExecutor; 0x19 on pyevm-agents chains
    /// @param _modelId the model that runs the agent, as the executor names it
    /// @param _tools those for sentiment and forecast, the OptimizerAgent, the ExecuteTradeTool; others may follow
    constructor(
        address owner,
        address _agentExecutorContract,
        string memory _modelId,
        IERCAgentTool[] memory _tools
    )
        IERCAgent(
            _agentExecutorContract,
            _modelId,
            TradingTexts.AGENT_NAME,
            TradingTexts.AGENT_DESCRIPTION,
            TradingTexts.AGENT_INPUT,
            TradingTexts.AGENT_PROMPT,
            _tools,
            ITERATIONS
        )
        Ownable(owner)
    {}

    /// @notice Decides on a post. For the owner and callers whom the owner allowed.
    /// @return answer what the tools did
    function decide(string memory post) external onlyCaller returns (string memory answer) {
        return _runOrRevert(requestFor(post));
    }

    /// @notice Returns the request for a post: the post as a quotation, and the four things to do.
    /// @dev A post is data. Quotation marks become `'`, bytes below a space become spaces, and the `x` of `0x` becomes `*`,
    ///   since the executor's models can't copy addresses as text.
    function requestFor(string memory post) public pure returns (string memory) {
        bytes memory text = bytes(post);
        if (text.length == 0 || text.length > MAX_POST_BYTES) revert WrongPostSize(text.length, MAX_POST_BYTES);
        for (uint256 i = 0; i < text.length; i++) {
            if (text[i] < 0x20 || text[i] == 0x7f) text[i] = " ";
            else if (text[i] == '"') text[i] = "'";
            else if (i > 0 && text[i - 1] == "0" && text[i] | 0x20 == "x") text[i] = "*";
        }
        return string.concat(TradingTexts.REQUEST_START, post, TradingTexts.REQUEST_END);
    }
}
