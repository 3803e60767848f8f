// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "@pyevm-agents/contracts/interfaces/IERCAgentTool.sol";

/// @title Pays out the ether of one owner, on behalf of one agent, up to a limit per payment
contract PayTool is IERCAgentTool {
    /// @notice Only the agent may call.
    error CallerNotAgent(address caller);

    /// @notice One payment may not exceed `limit` wei.
    error OverLimit(uint256 amount, uint256 limit);

    /// @notice The recipient rejected the payment.
    error PaymentFailed(address to);

    address public immutable owner;
    uint256 public immutable limit;
    address public agent;

    constructor(uint256 _limit) payable {
        owner = msg.sender;
        limit = _limit;
    }

    /// @notice Names the agent that may pay. The owner calls it once.
    function setAgent(address _agent) external {
        require(msg.sender == owner && agent == address(0), "not the owner, or set already");
        agent = _agent;
    }

    function name() external pure returns (string memory) {
        return "Pay";
    }

    function description() external pure returns (string memory) {
        return "Pays an amount of wei to a person";
    }

    function inputDescription() external pure returns (InputDescription memory) {
        ParamDescription[] memory params = new ParamDescription[](2);
        params[0] = ParamDescription(ParamType.ADDRESS, "to", "the person to pay");
        params[1] = ParamDescription(ParamType.UINT, "amount", "the amount in wei");
        return InputDescription(params);
    }

    /// @notice Pays. The limit and the caller are checked here, not by the model.
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (msg.sender != agent) revert CallerNotAgent(msg.sender);
        (address to, uint256 amount) = abi.decode(input.abiEncodedParams, (address, uint256));
        if (amount > limit) revert OverLimit(amount, limit);
        (bool sent,) = to.call{value: amount}("");
        if (!sent) revert PaymentFailed(to);
        return (-1, "Paid");
    }
}
