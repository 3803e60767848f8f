// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.20;

import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title A tool one of whose metadata functions misbehaves, as a test asks
contract BadMetadataTool is IERCAgentTool {
    enum Behaviour {
        HONEST,
        RETURN, // the payload as raw return data: malformed ABI, text that isn't UTF-8, any other metadata
        REVERT, // with the payload as raw revert data
        BURN_GAS, // in an endless loop
        RETURN_HUGE, // a well-formed string; the payload is `abi.encode(uint256)`: the size of all return data in bytes
        REENTER // calls the executor with the payload as calldata, and reverts with what it answers
    }

    address constant EXECUTOR = address(0x19);

    /// @notice The function that misbehaves: `name`, `description` or `inputDescription`.
    bytes4 public selector;
    Behaviour public behaviour;
    bytes public payload;

    constructor(bytes4 _selector, Behaviour _behaviour, bytes memory _payload) {
        set(_selector, _behaviour, _payload);
    }

    function set(bytes4 _selector, Behaviour _behaviour, bytes memory _payload) public {
        selector = _selector;
        behaviour = _behaviour;
        payload = _payload;
    }

    modifier misbehaving() {
        if (msg.sig == selector) _misbehave(payload);
        _;
    }

    function name() external view misbehaving returns (string memory) {
        return "BadMetadataTool";
    }

    function description() external view misbehaving returns (string memory) {
        return "Does nothing";
    }

    function inputDescription() external view misbehaving returns (InputDescription memory description_) {}

    function run(Input memory, address) external pure returns (int256, string memory) {
        return (-1, "Done");
    }

    function _misbehave(bytes memory data) private view {
        if (behaviour == Behaviour.RETURN) {
            assembly ("memory-safe") {
                return(add(data, 32), mload(data))
            }
        } else if (behaviour == Behaviour.REVERT) {
            assembly ("memory-safe") {
                revert(add(data, 32), mload(data))
            }
        } else if (behaviour == Behaviour.BURN_GAS) {
            while (true) {}
        } else if (behaviour == Behaviour.RETURN_HUGE) {
            uint256 size = abi.decode(data, (uint256));
            assembly {
                mstore(0, 32)
                mstore(32, sub(size, 64))
                calldatacopy(64, calldatasize(), sub(size, 64)) // zeros
                return(0, size)
            }
        } else if (behaviour == Behaviour.REENTER) {
            (, bytes memory answer) = EXECUTOR.staticcall(data);
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }
}
