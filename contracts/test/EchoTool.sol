// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title A tool with one parameter of every type, which remembers what it received
/// @notice Its parameters are named text, account, flag, signed, unsigned, texts, accounts, flags, signeds and
///   unsigneds, in the order of ParamType. It answers with `text`.
contract EchoTool is IERCAgentTool {
    /// @notice `abiEncodedParams` of the last run.
    bytes public abiEncodedParams;

    ParamValue[] receivedParams;

    function name() external pure returns (string memory) {
        return "EchoTool";
    }

    function description() external pure returns (string memory) {
        return "Repeats the text";
    }

    function inputDescription() external pure returns (InputDescription memory) {
        string[10] memory names = [
            "text", "account", "flag", "signed", "unsigned", "texts", "accounts", "flags", "signeds", "unsigneds"
        ];
        ParamDescription[] memory described = new ParamDescription[](names.length);
        for (uint256 i = 0; i < names.length; i++) {
            described[i] = ParamDescription(ParamType(i), names[i], string.concat("the ", names[i]));
        }
        return InputDescription(described);
    }

    /// @notice `params` of the last run.
    function params() external view returns (ParamValue[] memory) {
        return receivedParams;
    }

    function run(Input memory input, address) external returns (int256, string memory) {
        abiEncodedParams = input.abiEncodedParams;
        delete receivedParams;
        for (uint256 i = 0; i < input.params.length; i++) receivedParams.push(input.params[i]);
        return (-1, abi.decode(input.params[0].value, (string)));
    }

    /// @notice `abiEncodedParams` of the last run, decoded by Solidity's own decoder and encoded again.
    /// @dev Equal to `abiEncodedParams` where that is the canonical encoding.
    function reencodedParams() external view returns (bytes memory encoded) {
        // A dynamic struct is encoded as an offset of one word, then its members as a tuple.
        All memory all = abi.decode(bytes.concat(bytes32(uint256(32)), abiEncodedParams), (All));
        encoded = abi.encode(all);
        assembly ("memory-safe") {
            let size := sub(mload(encoded), 32)
            encoded := add(encoded, 32)
            mstore(encoded, size)
        }
    }

    struct All {
        string text;
        address account;
        bool flag;
        int256 signed;
        uint256 unsigned;
        string[] texts;
        address[] accounts;
        bool[] flags;
        int256[] signeds;
        uint256[] unsigneds;
    }
}
