// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @notice The cheat codes used here; forge-std has them all.
interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
    function rpc(string calldata method, string calldata params) external returns (bytes memory data);
    function rollFork(uint256 blockNumber) external;
    function mockCall(address callee, bytes calldata data, bytes calldata returnData) external;
    function etch(address target, bytes calldata code) external;
    function prank(address sender) external;
    function expectRevert(bytes calldata data) external;
    function envAddress(string calldata name) external view returns (address value);
    function toString(address value) external pure returns (string memory);
    function toString(bytes calldata value) external pure returns (string memory);
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
