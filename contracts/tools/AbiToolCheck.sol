// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IAbiTool} from "./IAbiTool.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AbiText} from "../libraries/AbiText.sol";
import {AbiTypes} from "../libraries/AbiTypes.sol";

/// @title Tells whether the data of an AbiTool fit together
library AbiToolCheck {
    /// @dev Basis points of one.
    uint256 private constant MAX_BASIS_POINTS = 10_000;

    /// @dev Some 136 years: the block's time plus so many seconds can't overflow.
    uint256 private constant MAX_SECONDS = type(uint32).max;

    /// @notice The ERC's type of the parameter for an argument: its own one, or that of a typed text.
    function paramTypeOf(AbiTypes.Type memory leaf) internal pure returns (IERCAgentTool.ParamType) {
        if (leaf.kind != AbiTypes.Kind.ARRAY || leaf.parts[0].parts.length != 0) {
            return IERCAgentTool.ParamType(_position(leaf.kind));
        }
        // Lists come after single values, in the same order.
        return IERCAgentTool.ParamType(_position(leaf.parts[0].kind) + uint8(IERCAgentTool.ParamType.STRING_ARRAY));
    }

    /// @notice Whether the model gives a value of an elementary type as text.
    function isText(AbiTypes.Type memory leaf) internal pure returns (bool) {
        return _position(leaf.kind) == uint8(IERCAgentTool.ParamType.STRING);
    }

    /// @notice Reverts with MalformedSpec unless the data fit together.
    function requireSound(IAbiTool.Spec memory spec) internal pure {
        IAbiTool.Call memory call = spec.call;
        uint256 count = call.arguments.length;
        AbiTypes.Type memory inputs = AbiTypes.parseTuple(call.inputTypes);
        if (AbiTypes.countLeaves(inputs) != count) revert IAbiTool.MalformedSpec(0, "one argument a leaf");
        AbiTypes.Type[] memory leaves = new AbiTypes.Type[](count);
        AbiTypes.flatten(inputs, leaves, 0);
        AbiTypes.Type memory outputs = AbiTypes.parseTuple(call.outputTypes);
        if (call.outputs.length != outputs.parts.length) revert IAbiTool.MalformedSpec(0, "one output a type");

        if (call.mustReturnTrue && (outputs.parts.length != 1 || outputs.parts[0].kind != AbiTypes.Kind.BOOL)) {
            revert IAbiTool.MalformedSpec(0, "a bool as the only output that must be true");
        }

        uint256 next = 0;
        bool hasMinimum = false;
        IERCAgentTool.ParamDescription[] memory params = spec.input.paramDescriptions;
        for (uint256 i = 0; i < count; i++) {
            if (call.arguments[i].source == IAbiTool.Source.MODEL) {
                if (next == params.length || params[next].paramType != paramTypeOf(leaves[i])) {
                    revert IAbiTool.MalformedSpec(i + 1, "a parameter of its ParamType");
                }
                next++;
                continue;
            }
            _requireSource(call.arguments[i], leaves[i], i + 1);
            if (call.arguments[i].source != IAbiTool.Source.MINIMUM) continue;
            if (hasMinimum) revert IAbiTool.MalformedSpec(i + 1, "one minimum at most");
            hasMinimum = true;
            _requireAmount(outputs, call.minimumOutput, i + 1);
        }
        _requireValue(call.value, params, next);
        _requireReferences(call, leaves);
    }

    function _requireSource(IAbiTool.Argument memory argument, AbiTypes.Type memory leaf, uint256 number) private pure {
        bool isUint = leaf.kind == AbiTypes.Kind.UINT;
        if (argument.source == IAbiTool.Source.ACCOUNT && leaf.kind != AbiTypes.Kind.ADDRESS) {
            revert IAbiTool.MalformedSpec(number, "the account is an address");
        }
        if (argument.source == IAbiTool.Source.DEADLINE && (!isUint || argument.number > MAX_SECONDS)) {
            revert IAbiTool.MalformedSpec(number, "a deadline is a uint of 136 years at most");
        }
        if (argument.source == IAbiTool.Source.MINIMUM && (!isUint || argument.number > MAX_BASIS_POINTS)) {
            revert IAbiTool.MalformedSpec(number, "a minimum is a uint of 10,000 basis points at most");
        }
        if (argument.source == IAbiTool.Source.FIXED && !_isEncoded(leaf, argument.fixedValue)) {
            revert IAbiTool.MalformedSpec(number, "a fixed value of its type");
        }
    }

    function _isEncoded(AbiTypes.Type memory leaf, bytes memory data) private pure returns (bool) {
        AbiText.Writer memory writer = AbiText.open(AbiText.MAX_TEXT_BYTES);
        uint256 place = leaf.isDynamic ? AbiText.offsetAt(data, 0, 0, writer) : 0;
        if (leaf.isDynamic ? place != 32 : data.length != 32 * leaf.words) return false;
        AbiText.write(leaf, data, place, writer);
        return !writer.isMalformed;
    }

    function _requireAmount(AbiTypes.Type memory outputs, uint256 index, uint256 number) private pure {
        if (index < outputs.parts.length) {
            AbiTypes.Type memory part = outputs.parts[index];
            if (part.kind == AbiTypes.Kind.UINT) return;
            bool isList = part.kind == AbiTypes.Kind.ARRAY || part.kind == AbiTypes.Kind.FIXED_ARRAY;
            if (isList && part.parts[0].kind == AbiTypes.Kind.UINT) return;
        }
        revert IAbiTool.MalformedSpec(number, "an output that is a uint or a list of uints");
    }

    function _requireValue(
        IAbiTool.CallValue memory value,
        IERCAgentTool.ParamDescription[] memory params,
        uint256 next
    ) private pure {
        if (value.isChosen) {
            if (value.least > value.most) revert IAbiTool.MalformedSpec(0, "a value of least to most wei");
            if (next == params.length || params[next].paramType != IERCAgentTool.ParamType.UINT) {
                revert IAbiTool.MalformedSpec(0, "the last parameter a UINT for the value");
            }
            next++;
        }
        if (next != params.length) revert IAbiTool.MalformedSpec(0, "no more parameters than the model chooses");
    }

    function _requireReferences(IAbiTool.Call memory call, AbiTypes.Type[] memory leaves) private pure {
        for (uint256 i = 0; i < call.approvals.length; i++) {
            IAbiTool.Approval memory approval = call.approvals[i];
            if (approval.token == address(0) || approval.spender == address(0)) {
                revert IAbiTool.MalformedSpec(0, "approvals with token and spender");
            }
            uint256 amount = approval.amountArgument;
            if (amount != 0 && (amount > leaves.length || !_isOneOrMore(leaves[amount - 1], AbiTypes.Kind.UINT))) {
                revert IAbiTool.MalformedSpec(amount, "an amount is a uint or a list of uints");
            }
            bool isAmount = approval.kind == IAbiTool.ApprovalKind.AMOUNT;
            if (approval.kind == IAbiTool.ApprovalKind.ITEM && amount == 0) {
                revert IAbiTool.MalformedSpec(0, "an item's ID in an argument");
            }
            if (!isAmount && !approval.isDerived) revert IAbiTool.MalformedSpec(0, "approvals of items that are derived");
            if (approval.isMeasured && (amount != 0 || !isAmount)) {
                revert IAbiTool.MalformedSpec(amount, "a measured amount in no argument");
            }
            _requireTokens(approval.tokenArgument, leaves);
        }
        for (uint256 i = 0; i < call.outputs.length; i++) _requireTokens(call.outputs[i].unitArgument, leaves);
    }

    function _requireTokens(uint256 number, AbiTypes.Type[] memory leaves) private pure {
        if (number == 0 || (number <= leaves.length && isTokens(leaves[number - 1]))) return;
        revert IAbiTool.MalformedSpec(number, "tokens are an address or a list of addresses");
    }

    /// @notice Whether an argument can name tokens: an address, or a list of addresses.
    function isTokens(AbiTypes.Type memory leaf) internal pure returns (bool) {
        return _isOneOrMore(leaf, AbiTypes.Kind.ADDRESS);
    }

    /// @dev Whether a type is of a kind, or a list of it.
    function _isOneOrMore(AbiTypes.Type memory leaf, AbiTypes.Kind kind) private pure returns (bool) {
        if (leaf.kind == kind) return true;
        bool isList = leaf.kind == AbiTypes.Kind.ARRAY || leaf.kind == AbiTypes.Kind.FIXED_ARRAY;
        return isList && leaf.parts[0].kind == kind;
    }

    /// @dev The position of a kind among the ERC's single types. Composites are texts.
    function _position(AbiTypes.Kind kind) private pure returns (uint8) {
        if (kind == AbiTypes.Kind.ADDRESS) return uint8(IERCAgentTool.ParamType.ADDRESS);
        if (kind == AbiTypes.Kind.BOOL) return uint8(IERCAgentTool.ParamType.BOOL);
        if (kind == AbiTypes.Kind.INT) return uint8(IERCAgentTool.ParamType.INT);
        if (kind == AbiTypes.Kind.UINT) return uint8(IERCAgentTool.ParamType.UINT);
        return uint8(IERCAgentTool.ParamType.STRING);
    }
}
