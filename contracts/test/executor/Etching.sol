// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

/// @title Puts code at an address, where a test runs in forge, with its cheat code
library Etching {
    /// @notice There are no cheat codes here. Use `anvil_setCode` or `hardhat_setCode`.
    error NotInForge();

    /// @notice forge refused to put code there: its EVM has a precompile of its own at this address.
    error NotEtched(address target);

    function etch(address target, bytes memory code) internal {
        address cheats = address(uint160(uint256(keccak256("hevm cheat code"))));
        if (cheats.code.length == 0) revert NotInForge();
        (bool success,) = cheats.call(abi.encodeWithSignature("etch(address,bytes)", target, code));
        if (!success) revert NotEtched(target);
    }
}
