// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAgentAccount} from "../../interfaces/IAgentAccount.sol";
import {IAbiTool} from "../../tools/IAbiTool.sol";

/// @title The least that can take the place of AgentAccount: it asks each tool what it may call
/// @notice It keeps no permissions of its own. A tool's are those of its data, which never change.
contract Treasury is IAgentAccount {
    /// @notice The caller is no tool of this treasury, or not for this function.
    error NotAllowed(address caller, address target, bytes4 selector);

    /// @notice The function reverted.
    error Failed(bytes reason);

    bytes4 private constant APPROVE = bytes4(keccak256("approve(address,uint256)"));

    address public immutable owner;
    address public agent;
    mapping(address tool => bool) public isTool;

    constructor() {
        owner = msg.sender;
    }

    receive() external payable {}

    /// @notice Sets the agent and its tools.
    function appoint(address newAgent, address[] calldata tools) external {
        if (msg.sender != owner) revert NotAllowed(msg.sender, address(this), msg.sig);
        agent = newAgent;
        for (uint256 i = 0; i < tools.length; i++) isTool[tools[i]] = true;
    }

    function execute(address target, uint256 value, bytes calldata data) external returns (bytes memory output) {
        if (!_isAllowed(target, value, data)) revert NotAllowed(msg.sender, target, bytes4(data));
        bool success;
        (success, output) = target.call{value: value}(data);
        if (!success) revert Failed(output);
    }

    function _isAllowed(address target, uint256 value, bytes calldata data) private view returns (bool) {
        if (!isTool[msg.sender] || target.code.length == 0) return false;
        Permission[] memory permissions = IAbiTool(msg.sender).permissions();
        for (uint256 i = 0; i < permissions.length; i++) {
            Permission memory permission = permissions[i];
            bool isCall = permission.target == target && permission.selector == bytes4(data);
            bool isSpender = permission.spender == address(0)
                || bytes32(data[4:36]) == bytes32(uint256(uint160(permission.spender)))
                || (permission.selector == APPROVE && bytes32(data[4:36]) == 0);
            if (isCall && isSpender && value <= permission.maxValue) return true;
        }
        return false;
    }
}
