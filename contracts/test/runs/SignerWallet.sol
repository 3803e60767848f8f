// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title A contract wallet whose signatures are those of its owner's key
contract SignerWallet is IERC1271 {
    address public immutable owner;

    constructor(address _owner) {
        owner = _owner;
    }

    /// @notice Calls a contract. For the owner.
    function execute(address target, bytes calldata data) external returns (bytes memory output) {
        require(msg.sender == owner);
        bool success;
        (success, output) = target.call(data);
        if (success) return output;
        assembly ("memory-safe") {
            revert(add(output, 32), mload(output))
        }
    }

    /// @inheritdoc IERC1271
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer,,) = ECDSA.tryRecoverCalldata(hash, signature);
        return signer == owner ? IERC1271.isValidSignature.selector : bytes4(0);
    }
}
