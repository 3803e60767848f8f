// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {LowLevelCall} from "@openzeppelin/contracts/utils/LowLevelCall.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {IAgentAccount} from "../interfaces/IAgentAccount.sol";

/// @title Holds the assets of an agent, and calls contracts for the agent's tools
/// @notice Send ether, ERC-20, ERC-721 and ERC-1155 tokens to this contract to let the agent work with them.
///   All tools of the agent act through it, so what one bought another can sell: every contract sees this account.
///   A tool can call what the owner registered it for, and nothing else: a target, a function, wei up to a cap for
///   each call, and for approvals one spender, or none. The owner can do everything.
/// @dev A model that runs amok, and anybody who deceives it, can at most do what the registered tools can do.
contract AgentAccount is
    IAgentAccount,
    Ownable2Step,
    ReentrancyGuardTransient,
    ERC721Holder,
    ERC1155Holder
{
    using SafeERC20 for IERC20;

    /// @notice The caller is no tool, or no longer one.
    error NotTool(address caller);

    /// @notice The tool is not registered for this function, or not for this spender.
    error CallNotAllowed(address tool, address target, bytes4 selector);

    /// @notice More wei than the tool may send with one call.
    error ValueAboveLimit(address tool, uint256 value, uint256 limit);

    /// @notice The data of a call begin with a selector: four bytes at least.
    error SelectorMissing(address target);

    /// @notice There is no contract at the address.
    error TargetWithoutCode(address target);

    /// @notice The function reverted.
    /// @param reason its revert data, cut at MAX_REASON_BYTES
    error CallFailed(address target, bytes4 selector, bytes reason);

    /// @notice The account has less wei than the call needs.
    error ValueAboveBalance(uint256 value, uint256 balance);

    /// @notice A tool may not call this address: the account, the tool itself, or a precompile.
    error ForbiddenTarget(address target);

    /// @notice Not an address that can be a tool: zero, the account, or an address without code.
    error ForbiddenTool(address tool);

    /// @notice A tool that is registered has to be removed before it is registered with other calls.
    error ToolAlreadyRegistered(address tool);

    /// @notice A tool without permissions can't do anything.
    error PermissionsMissing(address tool);

    /// @notice A tool was given access to the account.
    event ToolAdded(address indexed tool, Permission[] permissions);

    /// @notice A tool lost its access to the account.
    event ToolRemoved(address indexed tool);

    /// @notice The agent that runs the tools was set.
    event AgentSet(address indexed agent);

    /// @notice A tool, or the owner, made the account call a function.
    event Executed(address indexed caller, address indexed target, bytes4 indexed selector, uint256 value);

    /// @notice Bytes of return data that a call hands back. What is longer is cut.
    uint256 public constant MAX_OUTPUT_BYTES = 16_384;

    /// @notice Bytes of revert data that CallFailed quotes.
    uint256 public constant MAX_REASON_BYTES = 1_024;

    /// @notice Addresses up to this one are, or can become, precompiles. A tool can't call them.
    address public constant LAST_PRECOMPILE = address(0xffff);

    /// @inheritdoc IAgentAccount
    address public agent;

    /// @dev 0 where an address is no tool. Each registration has a number of its own, so a removal forgets all rules.
    mapping(address tool => uint256) private registrations;

    uint256 private lastRegistration;

    /// @dev Tokens of which a tool may take approvals back, as an ERC-721 token does by `approve(address(0), item)`.
    mapping(uint256 registration => mapping(address token => bool)) private revocable;

    /// @dev By registration and `_key`: the cap in wei plus one, so that 0 means that the call is not allowed.
    mapping(uint256 registration => mapping(bytes32 key => uint256)) private caps;

    /// @notice Creates an account without tools and without an agent.
    constructor(address initialOwner) Ownable(initialOwner) {}

    /// @notice Takes ether.
    receive() external payable {}

    // -- tools -- //

    /// @inheritdoc IAgentAccount
    function execute(address target, uint256 value, bytes calldata data)
        external
        nonReentrant
        returns (bytes memory output)
    {
        _requireAllowed(target, value, data);
        return _call(target, value, data);
    }

    /// @notice Whether an address is registered as a tool.
    function isTool(address tool) public view returns (bool) {
        return registrations[tool] != 0;
    }

    /// @notice Whether a tool may call a function, and the most wei that may go with a call.
    /// @param spender the spender that the permission is restricted to; zero for one without
    function permissionOf(address tool, address target, bytes4 selector, address spender)
        external
        view
        returns (bool isAllowed, uint256 maxValue)
    {
        uint256 cap = isTool(tool) ? caps[registrations[tool]][_key(target, selector, spender)] : 0;
        return (cap != 0, cap == 0 ? 0 : cap - 1);
    }

    // -- the owner -- //

    /// @notice Sets the only address that may run the tools. For the owner.
    function setAgent(address newAgent) external onlyOwner {
        agent = newAgent;
        emit AgentSet(newAgent);
    }

    /// @notice Lets a tool make calls. For the owner.
    /// @param permissions all calls that the tool may make; `AbiTool.permissions` returns those that it needs
    function registerTool(address tool, Permission[] calldata permissions) external onlyOwner {
        if (isTool(tool)) revert ToolAlreadyRegistered(tool);
        if (permissions.length == 0) revert PermissionsMissing(tool);
        if (tool == address(this) || tool.code.length == 0) revert ForbiddenTool(tool);
        uint256 registration = ++lastRegistration;
        registrations[tool] = registration;
        for (uint256 i = 0; i < permissions.length; i++) {
            Permission calldata permission = permissions[i];
            address target = permission.target;
            if (target == address(this) || target == tool || target <= LAST_PRECOMPILE) revert ForbiddenTarget(target);
            uint256 cap = permission.maxValue == type(uint256).max ? permission.maxValue : permission.maxValue + 1;
            caps[registration][_key(target, permission.selector, permission.spender)] = cap;
            if (permission.selector == IERC20.approve.selector && permission.spender != address(0)) {
                revocable[registration][target] = true;
            }
        }
        emit ToolAdded(tool, permissions);
    }

    /// @notice Takes a tool's access away. For the owner.
    function removeTool(address tool) external onlyOwner {
        if (!isTool(tool)) revert NotTool(tool);
        delete registrations[tool];
        emit ToolRemoved(tool);
    }

    /// @notice Calls any function of any contract as the account. For the owner.
    function ownerExecute(address target, uint256 value, bytes calldata data)
        external
        onlyOwner
        nonReentrant
        returns (bytes memory output)
    {
        if (data.length < 4) revert SelectorMissing(target);
        return _call(target, value, data);
    }

    /// @notice Sends ether of the account. For the owner.
    /// @param amount in wei
    function withdrawEther(address payable to, uint256 amount) external onlyOwner nonReentrant {
        Address.sendValue(to, amount);
    }

    /// @notice Sends ERC-20 tokens of the account. For the owner.
    /// @param amount in base units
    function withdrawToken(IERC20 token, address to, uint256 amount) external onlyOwner nonReentrant {
        token.safeTransfer(to, amount);
    }

    /// @notice ERC-165: IAgentAccount and the receiver of ERC-1155 tokens.
    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(IAgentAccount).interfaceId || super.supportsInterface(interfaceId);
    }

    function _requireAllowed(address target, uint256 value, bytes calldata data) private view {
        uint256 registration = registrations[msg.sender];
        if (registration == 0) revert NotTool(msg.sender);
        if (data.length < 4) revert SelectorMissing(target);
        bytes4 selector = bytes4(data);
        uint256 cap = caps[registration][_key(target, selector, address(0))];
        if (cap == 0 && data.length >= 36) {
            uint256 spender = uint256(bytes32(data[4:36]));
            bool isSpender = spender != 0 && spender <= type(uint160).max;
            if (isSpender) cap = caps[registration][_key(target, selector, address(uint160(spender)))];
            bool isRevocation = spender == 0 && selector == IERC20.approve.selector;
            if (isRevocation && revocable[registration][target]) cap = 1;
        }
        if (cap == 0) revert CallNotAllowed(msg.sender, target, selector);
        if (value > cap - 1) revert ValueAboveLimit(msg.sender, value, cap - 1);
    }

    function _call(address target, uint256 value, bytes calldata data) private returns (bytes memory output) {
        if (target.code.length == 0) revert TargetWithoutCode(target);
        if (value > address(this).balance) revert ValueAboveBalance(value, address(this).balance);
        emit Executed(msg.sender, target, bytes4(data), value);
        bool success = LowLevelCall.callNoReturn(target, value, data);
        output = _returned(success ? MAX_OUTPUT_BYTES : MAX_REASON_BYTES);
        if (!success) revert CallFailed(target, bytes4(data), output);
    }

    /// @dev The first bytes of the return data. `bytes memory` copies all of them, at the account's cost.
    function _returned(uint256 limit) private pure returns (bytes memory output) {
        uint256 size = LowLevelCall.returnDataSize();
        output = new bytes(size < limit ? size : limit);
        assembly ("memory-safe") {
            returndatacopy(add(output, 32), 0, mload(output))
        }
    }

    function _key(address target, bytes4 selector, address spender) private pure returns (bytes32) {
        return keccak256(abi.encode(target, selector, spender));
    }
}
