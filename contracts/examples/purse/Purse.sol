// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../../interfaces/IERCAgentTool.sol";
import {Decimal} from "../../libraries/Decimal.sol";
import {TokenCall} from "../../libraries/TokenCall.sol";

/// @title A purse that an agent may pay from: tokens, and the tool that spends them
/// @notice Send tokens here and name the agent with `setAgent`. Amounts are whole tokens. The owner wants the agent to
///   pay at most `limit` of them a day, and only to payees of theirs; what is done for that is `_guard`'s.
abstract contract Purse is IERCAgentTool {
    using TokenCall for address;

    /// @notice Somebody else than the owner used the owner's doors.
    error NotOwner(address caller);

    /// @notice Somebody else than the agent tried to pay.
    error NotAgent(address caller);

    /// @notice More than the limit was to be paid.
    error OverLimit(uint256 amount, uint256 limit);

    address public immutable owner;
    address public immutable token;
    uint256 public immutable limit;

    /// @notice Who may pay from here.
    address public agent;

    /// @notice Whom the owner wants to be paid.
    mapping(address account => bool) public isPayee;

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    /// @param _token an ERC-20 token
    /// @param _limit in whole tokens
    constructor(address _token, uint256 _limit) {
        owner = msg.sender;
        token = _token;
        limit = _limit;
    }

    function setAgent(address _agent) external onlyOwner {
        agent = _agent;
    }

    function addPayee(address payee) external onlyOwner {
        isPayee[payee] = true;
    }

    /// @inheritdoc IERCAgentTool
    function name() external pure returns (string memory) {
        return "Pay";
    }

    /// @inheritdoc IERCAgentTool
    function description() external pure returns (string memory) {
        return "Pays from the purse";
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (InputDescription memory) {
        ParamDescription[] memory params = new ParamDescription[](2);
        params[0] = ParamDescription(ParamType.ADDRESS, "to", "who is paid");
        params[1] = ParamDescription(ParamType.UINT, "amount", "whole tokens to pay");
        return InputDescription(params);
    }

    /// @inheritdoc IERCAgentTool
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        if (msg.sender != agent) revert NotAgent(msg.sender);
        (address to, uint256 amount) = abi.decode(input.abiEncodedParams, (address, uint256));
        _guard(to, amount);
        token.transfer(to, amount * 10 ** token.decimals());
        return (-1, string.concat("Paid ", Decimal.toString(amount)));
    }

    /// @dev Reverts where a payment must not be made.
    function _guard(address to, uint256 amount) internal virtual;
}
