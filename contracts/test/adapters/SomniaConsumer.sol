// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ISomniaAgents, Request, Response, ResponseStatus} from "../../adapters/ISomniaAgents.sol";
import {ISomniaLanguageModel, OnchainTool} from "../../adapters/ISomniaLanguageModel.sol";

/// @title A contract as it is written for Somnia's agents: a counter that a model may add to
contract SomniaConsumer {
    error OnlyPlatform();

    uint256 private constant AGENT_ID = 12847293847561029384;

    ISomniaAgents public immutable platform;
    uint256 public requestId;
    ResponseStatus public status;
    bytes public result;
    address public validator;
    uint256 public total;
    string public answer;
    string public toolResult = "{\"tool_call_id\":\"call_1\",\"content\":\"the total is 5\"}";

    constructor(ISomniaAgents _platform) {
        platform = _platform;
    }

    receive() external payable {}

    /// @notice A function that the model may choose.
    function add(uint256 amount, string memory) external returns (uint256) {
        if (msg.sender != address(this)) revert OnlyPlatform();
        return total += amount;
    }

    function ask(bytes memory payload) external payable {
        requestId = platform.createRequest{value: msg.value}(
            AGENT_ID, address(this), this.handleResponse.selector, payload
        );
    }

    function askWithTools(string memory prompt) external payable {
        string[] memory roles = new string[](2);
        string[] memory messages = new string[](2);
        (roles[0], messages[0]) = ("system", "You count.");
        (roles[1], messages[1]) = ("user", prompt);
        _chat(roles, messages, msg.value);
    }

    function handleResponse(
        uint256 _requestId,
        Response[] memory responses,
        ResponseStatus _status,
        Request memory request
    ) external {
        if (msg.sender != address(platform)) revert OnlyPlatform();
        require(request.id == _requestId && request.requester == address(this));
        (requestId, status) = (_requestId, _status);
        if (responses.length > 0) (result, validator) = (responses[0].result, responses[0].validator);
    }

    /// @notice The loop of tool calls: runs each call on itself and asks again with its result.
    function handleChat(
        uint256,
        Response[] memory responses,
        ResponseStatus _status,
        Request memory
    ) external {
        if (msg.sender != address(platform)) revert OnlyPlatform();
        status = _status;
        if (_status != ResponseStatus.Success) return;
        (
            string memory finishReason,
            string memory response,
            string[] memory roles,
            string[] memory messages,
            string[] memory ids,
            bytes[] memory calls
        ) = abi.decode(responses[0].result, (string, string, string[], string[], string[], bytes[]));
        if (keccak256(bytes(finishReason)) == keccak256("stop")) {
            answer = response;
            return;
        }
        string[] memory newRoles = new string[](roles.length + calls.length);
        string[] memory newMessages = new string[](roles.length + calls.length);
        for (uint256 i = 0; i < roles.length; i++) {
            (newRoles[i], newMessages[i]) = (roles[i], messages[i]);
        }
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success,) = address(this).call(calls[i]);
            require(success && bytes(ids[i]).length > 0);
            (newRoles[roles.length + i], newMessages[roles.length + i]) = ("tool", toolResult);
        }
        _chat(newRoles, newMessages, platform.getRequestDeposit());
    }

    function _chat(string[] memory roles, string[] memory messages, uint256 deposit) private {
        OnchainTool[] memory tools = new OnchainTool[](2);
        tools[0] = OnchainTool("add(uint256 amount, string reason)", "Add to the counter");
        tools[1] = OnchainTool("reset()", "Set the counter to zero");
        bytes memory payload = abi.encodeCall(
            ISomniaLanguageModel.inferToolsChat, (roles, messages, new string[](0), tools, 5, true)
        );
        requestId =
            platform.createRequest{value: deposit}(AGENT_ID, address(this), this.handleChat.selector, payload);
    }
}
