// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IAbiTool} from "./IAbiTool.sol";
import {IAgentAccount} from "../interfaces/IAgentAccount.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AbiText} from "../libraries/AbiText.sol";
import {AbiTypes} from "../libraries/AbiTypes.sol";
import {AbiToolCheck} from "./AbiToolCheck.sol";
import {AbiToolTexts} from "./AbiToolTexts.sol";

/// @title The code behind all tools that AbiToolFactory creates
/// @notice A tool calls one function of one contract, as the account of its agent. Nobody but the agent runs it.
///   Its data are immutable, so what the model reads about it can't change.
///
///   An argument of source MINIMUM protects against a state that changes between two steps of a run, as in callback
///   execution: the tool tries the call, undoes it, and then asks for what the trial paid out, less the slippage. It
///   does NOT protect against a price that somebody moved earlier in the same block, for example around the
///   transaction: the trial sees that price too. A target that pays out less than when it was tried is undone.
/// @dev A tool is a clone (ERC-1167) with its data behind the code: four lengths of four bytes, then name,
///   description, input description and call, each ABI-encoded, so that a read of one copies that one alone.
contract AbiTool is IAbiTool, ERC165 {
    /// @dev The code of a clone, before its data. Source: OpenZeppelin, Clones.fetchCloneArgs.
    uint256 private constant DATA_START = 0x2d;

    uint256 private constant HEADER_BYTES = 16;
    uint256 private constant SEGMENTS = 4;
    uint256 private constant BASIS_POINTS = 10_000;

    /// @notice Reads arguments that are texts, and writes outputs as sentences.
    AbiToolTexts public immutable texts;

    address private immutable implementation;

    /// @dev A call whose arguments are known.
    struct Plan {
        Call call;
        AbiTypes.Type inputs;
        AbiTypes.Type[] leaves;
        bytes[] bodies;
        uint256 value;
        uint256[] given;
    }

    /// @dev A bit for each item of an approval.
    uint256 private constant MAX_ITEMS = 256;

    /// @notice Creates the code that all tools share.
    constructor(AbiToolTexts _texts) {
        texts = _texts;
        implementation = address(this);
    }

    // -- metadata -- //

    /// @inheritdoc IERCAgentTool
    function name() external view returns (string memory) {
        _return(_segment(0));
    }

    /// @inheritdoc IERCAgentTool
    function description() external view returns (string memory) {
        _return(_segment(1));
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external view returns (InputDescription memory) {
        _return(_segment(2));
    }

    /// @inheritdoc IAbiTool
    function spec() external view returns (Spec memory) {
        // Four values that are encoded already: their offsets, then each without the offset that it has alone.
        bytes memory heads = abi.encode(32);
        bytes memory tails;
        for (uint256 i = 0; i < SEGMENTS; i++) {
            bytes memory segment = _segment(i);
            heads = bytes.concat(heads, bytes32(32 * SEGMENTS + tails.length));
            tails = bytes.concat(tails, _slice(segment, 32, segment.length));
        }
        _return(bytes.concat(heads, tails));
    }

    /// @inheritdoc IAbiTool
    function permissions() external view returns (IAgentAccount.Permission[] memory allowed) {
        Call memory call = _call();
        allowed = new IAgentAccount.Permission[](1 + call.approvals.length);
        uint256 most = call.value.isChosen ? call.value.most : call.value.least;
        allowed[0] = IAgentAccount.Permission(call.target, call.selector, most, address(0));
        uint256 count = 1;
        for (uint256 i = 0; i < call.approvals.length; i++) {
            Approval memory approval = call.approvals[i];
            if (!approval.isDerived) continue;
            allowed[count++] =
                IAgentAccount.Permission(approval.token, _approveSelector(approval), 0, approval.spender);
        }
        assembly ("memory-safe") {
            mstore(allowed, count)
        }
    }

    /// @notice ERC-165: IERCAgentTool and IAbiTool.
    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(IERCAgentTool).interfaceId || interfaceId == type(IAbiTool).interfaceId
            || super.supportsInterface(interfaceId);
    }

    // -- runs -- //

    /// @notice Makes the call with the arguments that the model chose and those that are derived.
    /// @dev The second argument, the result handler, is unused: the tool is synchronous.
    /// @return runId -1, as the tool is synchronous
    /// @return result the outputs as a sentence, or `Done`
    function run(Input memory input, address) external returns (int256 runId, string memory result) {
        Plan memory plan;
        plan.call = _call();
        address agent = IAgentAccount(plan.call.account).agent();
        if (msg.sender != agent) revert NotAgent(msg.sender);
        _collect(plan, input.params);
        _approve(plan);
        bytes memory output = _execute(plan);
        _revoke(plan);
        return (-1, _describe(plan, output));
    }

    /// @notice Makes a call and undoes it: always reverts, with `Tried` if the call succeeded. For the tool itself.
    /// @param measured approvals; the call may take all that the account has of their tokens
    function tryCall(
        address account,
        address target,
        uint256 value,
        bytes memory data,
        Approval[] memory measured
    ) external {
        if (msg.sender != address(this)) revert NotSelf(msg.sender);
        uint256[] memory balances = new uint256[](measured.length);
        uint256[] memory allowances = new uint256[](measured.length);
        for (uint256 i = 0; i < measured.length; i++) {
            (balances[i], allowances[i]) = _open(account, measured[i]);
        }
        bytes memory output = IAgentAccount(account).execute(target, value, data);
        for (uint256 i = 0; i < measured.length; i++) {
            allowances[i] = _taken(account, measured[i], balances[i], allowances[i]);
        }
        revert Tried(output, allowances);
    }

    /// @dev Approves all that the account has of a token.
    function _open(address account, Approval memory approval) private returns (uint256 balance, uint256 allowance) {
        balance = IERC20(approval.token).balanceOf(account);
        allowance = _allowance(account, approval);
        if (allowance >= balance) return (balance, allowance);
        _forceApprove(account, approval, balance);
        return (balance, balance);
    }

    /// @dev What was taken: an unlimited allowance stays as it is, and a token that pays back changes the balance less.
    function _taken(address account, Approval memory approval, uint256 balance, uint256 allowance)
        private
        view
        returns (uint256)
    {
        return Math.max(
            Math.saturatingSub(balance, IERC20(approval.token).balanceOf(account)),
            Math.saturatingSub(allowance, _allowance(account, approval))
        );
    }

    // -- arguments -- //

    function _collect(Plan memory plan, ParamValue[] memory params) private view {
        Call memory call = plan.call;
        plan.inputs = AbiTypes.parseTuple(call.inputTypes);
        plan.leaves = new AbiTypes.Type[](call.arguments.length);
        AbiTypes.flatten(plan.inputs, plan.leaves, 0);
        plan.bodies = new bytes[](call.arguments.length);
        uint256 next = 0;
        for (uint256 i = 0; i < call.arguments.length; i++) {
            Argument memory argument = call.arguments[i];
            if (argument.source == Source.MODEL) {
                if (next == params.length) revert UnexpectedInput(argument.name, "missing");
                plan.bodies[i] = _encodeParam(params[next++], plan.leaves[i], argument);
            } else {
                plan.bodies[i] = _derive(call.account, plan.leaves[i], argument);
            }
        }
        plan.value = call.value.least;
        if (call.value.isChosen) {
            if (next == params.length) revert UnexpectedInput("value", "missing");
            plan.value = _chosenValue(params[next++], call.value);
        }
        if (next != params.length) revert UnexpectedInput("", "more parameters than the tool has");
        for (uint256 i = 0; i < call.arguments.length; i++) {
            if (call.arguments[i].limits.forbidden.length != 0) _requireNoToken(plan, i);
        }
    }

    /// @dev A recipient is no token that another argument names.
    function _requireNoToken(Plan memory plan, uint256 index) private pure {
        if (!AbiToolCheck.isTokens(plan.leaves[index])) return; // addresses in a typed text
        address[] memory recipients = _addresses(plan, index + 1);
        Call memory call = plan.call;
        for (uint256 i = 0; i < recipients.length; i++) {
            for (uint256 j = 0; j < call.approvals.length; j++) {
                _requireOther(plan, index, recipients[i], call.approvals[j].tokenArgument);
            }
            for (uint256 j = 0; j < call.outputs.length; j++) {
                _requireOther(plan, index, recipients[i], call.outputs[j].unitArgument);
            }
        }
    }

    function _requireOther(Plan memory plan, uint256 index, address recipient, uint256 tokens) private pure {
        if (tokens == 0) return;
        AbiText.requireRecipient(recipient, plan.call.arguments[index].name, _addresses(plan, tokens));
    }

    function _chosenValue(ParamValue memory param, CallValue memory value) private pure returns (uint256 chosen) {
        bool isUint = param.paramType == ParamType.UINT && param.value.length == 32;
        if (!isUint) revert UnexpectedInput("value", "not a UINT");
        chosen = uint256(bytes32(param.value));
        if (chosen < value.least || chosen > value.most) {
            revert AbiText.ValueOutOfRange("value", chosen, value.least, value.most);
        }
    }

    /// @dev A minimum is zero here: it is known after the trial.
    function _derive(address account, AbiTypes.Type memory leaf, Argument memory argument)
        private
        view
        returns (bytes memory)
    {
        if (argument.source == Source.FIXED) {
            return leaf.isDynamic ? _slice(argument.fixedValue, 32, argument.fixedValue.length) : argument.fixedValue;
        }
        if (argument.source == Source.ACCOUNT) return abi.encode(account);
        if (argument.source == Source.MINIMUM) return abi.encode(0);
        return _word(leaf, block.timestamp + argument.number, argument);
    }

    function _word(AbiTypes.Type memory leaf, uint256 word, Argument memory argument)
        private
        pure
        returns (bytes memory)
    {
        AbiText.checkWord(leaf, word, argument.name, argument.limits);
        return abi.encode(word);
    }

    function _encodeParam(ParamValue memory param, AbiTypes.Type memory leaf, Argument memory argument)
        private
        view
        returns (bytes memory)
    {
        ParamType expected = AbiToolCheck.paramTypeOf(leaf);
        if (param.paramType != expected) revert UnexpectedInput(argument.name, "another ParamType");
        if (expected == ParamType.STRING) {
            return _encodeText(leaf, _textAt(param.value, 0, argument.name), argument);
        }
        if (uint8(expected) < uint8(ParamType.STRING_ARRAY)) {
            if (param.value.length != 32) revert UnexpectedInput(argument.name, "not one word");
            return _word(leaf, uint256(bytes32(param.value)), argument);
        }
        return _encodeList(param.value, leaf, argument);
    }

    function _encodeList(bytes memory value, AbiTypes.Type memory leaf, Argument memory argument)
        private
        view
        returns (bytes memory)
    {
        AbiTypes.Type memory item = leaf.parts[0];
        uint256 count = _wordAt(value, 32, argument.name);
        // Each item has a word of its own.
        if (_wordAt(value, 0, argument.name) != 32 || count > value.length / 32) {
            revert UnexpectedInput(argument.name, "not an ABI-encoded list");
        }
        bytes memory items = _slice(value, 64, value.length);
        bytes[] memory bodies = new bytes[](count);
        for (uint256 i = 0; i < count; i++) {
            bodies[i] = AbiToolCheck.isText(item)
                ? _encodeText(item, _textAt(items, 32 * i, argument.name), argument)
                : _word(item, _wordAt(items, 32 * i, argument.name), argument);
        }
        return bytes.concat(bytes32(count), AbiText.join(bodies, leaf.parts));
    }

    function _encodeText(AbiTypes.Type memory leaf, string memory text, Argument memory argument)
        private
        view
        returns (bytes memory)
    {
        if (leaf.kind == AbiTypes.Kind.STRING) return AbiText.encodeBytes(bytes(text));
        return texts.encode(AbiTypes.nameOf(leaf), text, argument.name, argument.limits);
    }

    /// @dev The text whose offset is at a place.
    function _textAt(bytes memory data, uint256 head, string memory parameter) private pure returns (string memory) {
        uint256 start = _wordAt(data, head, parameter);
        uint256 length = _wordAt(data, start, parameter);
        if (length > data.length - start - 32) revert UnexpectedInput(parameter, "not an ABI-encoded string");
        return string(_slice(data, start + 32, start + 32 + length));
    }

    function _wordAt(bytes memory data, uint256 place, string memory parameter) private pure returns (uint256 word) {
        if (data.length < 32 || place > data.length - 32) revert UnexpectedInput(parameter, "too short");
        assembly ("memory-safe") {
            word := mload(add(add(data, 32), place))
        }
    }

    // -- calls -- //

    /// @dev Gives the approvals whose amounts are known.
    function _approve(Plan memory plan) private {
        Approval[] memory approvals = plan.call.approvals;
        plan.given = new uint256[](approvals.length);
        for (uint256 i = 0; i < approvals.length; i++) {
            if (approvals[i].isMeasured || !_isNeeded(plan, approvals[i])) continue;
            plan.given[i] = approvals[i].kind == ApprovalKind.AMOUNT
                ? _approveAmount(plan.call.account, approvals[i], _amount(plan, approvals[i]))
                : _approveItems(plan, approvals[i]);
        }
    }

    /// @dev Returns 1 if the tool approved, 0 if the allowance is high enough.
    function _approveAmount(address account, Approval memory approval, uint256 amount) private returns (uint256) {
        uint256 allowance = _allowance(account, approval);
        if (allowance >= amount) return 0;
        if (!approval.isDerived) revert AllowanceTooLow(approval.token, approval.spender, allowance, amount);
        _forceApprove(account, approval, amount);
        return 1;
    }

    /// @dev Returns a bit for each item that the tool approved.
    function _approveItems(Plan memory plan, Approval memory approval) private returns (uint256 given) {
        address account = plan.call.account;
        if (approval.kind == ApprovalKind.ALL) {
            if (IERC721(approval.token).isApprovedForAll(account, approval.spender)) return 0;
            _change(account, approval, approval.spender, 1);
            return 1;
        }
        uint256[] memory items = _words(plan, approval.amountArgument);
        if (items.length > MAX_ITEMS) revert UnexpectedInput("", "more than 256 items");
        for (uint256 i = 0; i < items.length; i++) {
            if (IERC721(approval.token).getApproved(items[i]) == approval.spender) continue;
            _change(account, approval, approval.spender, items[i]);
            given |= 1 << i;
        }
    }

    /// @dev Takes back what the tool gave and the call did not use.
    function _revoke(Plan memory plan) private {
        address account = plan.call.account;
        for (uint256 i = 0; i < plan.given.length; i++) {
            Approval memory approval = plan.call.approvals[i];
            uint256 given = plan.given[i];
            if (given == 0) continue;
            if (approval.kind == ApprovalKind.ITEM) {
                _revokeItems(account, approval, _words(plan, approval.amountArgument), given);
            } else if (approval.kind == ApprovalKind.ALL || _allowance(account, approval) != 0) {
                _change(account, approval, approval.spender, 0);
            }
        }
    }

    function _revokeItems(address account, Approval memory approval, uint256[] memory items, uint256 given) private {
        for (uint256 i = 0; i < items.length; i++) {
            if (given >> i & 1 == 0) continue;
            // An item that moved has no approval any more, and one that is gone is no item.
            try IERC721(approval.token).getApproved(items[i]) returns (address approved) {
                if (approved == approval.spender) _change(account, approval, address(0), items[i]);
            } catch {}
        }
    }

    /// @dev Whether a call needs an approval of a token, which another argument may tell.
    function _isNeeded(Plan memory plan, Approval memory approval) private pure returns (bool) {
        if (approval.tokenArgument == 0) return true;
        if (_isItemwise(plan, approval)) return true; // those that count are added
        address[] memory tokens = _addresses(plan, approval.tokenArgument);
        return tokens.length != 0 && tokens[0] == approval.token;
    }

    /// @dev Whether an approval has a token for each of several amounts.
    function _isItemwise(Plan memory plan, Approval memory approval) private pure returns (bool) {
        return approval.amountArgument != 0 && approval.tokenArgument != 0
            && plan.leaves[approval.amountArgument - 1].kind != AbiTypes.Kind.UINT
            && plan.leaves[approval.tokenArgument - 1].kind != AbiTypes.Kind.ADDRESS;
    }

    /// @dev The amount of an argument, or the sum of those of a list whose token it is.
    function _amount(Plan memory plan, Approval memory approval) private pure returns (uint256 amount) {
        if (approval.amountArgument == 0) return approval.amount;
        uint256[] memory amounts = _words(plan, approval.amountArgument);
        address[] memory tokens = new address[](0);
        if (_isItemwise(plan, approval)) tokens = _addresses(plan, approval.tokenArgument);
        for (uint256 i = 0; i < amounts.length; i++) {
            bool isOther = i < tokens.length && tokens[i] != approval.token;
            if (!isOther) amount += amounts[i];
        }
    }

    function _allowance(address account, Approval memory approval) private view returns (uint256) {
        return IERC20(approval.token).allowance(account, approval.spender);
    }

    /// @dev As OpenZeppelin's SafeERC20.forceApprove, by the account: some tokens refuse to change an allowance that
    ///   is not zero, and some return nothing.
    function _forceApprove(address account, Approval memory approval, uint256 amount) private {
        (bool success,) = _tryChange(account, approval, approval.spender, amount);
        if (success) return;
        _tryChange(account, approval, approval.spender, 0);
        _change(account, approval, approval.spender, amount);
    }

    function _change(address account, Approval memory approval, address spender, uint256 value) private {
        (bool success, bytes memory answer) = _tryChange(account, approval, spender, value);
        if (!success) revert ApprovalFailed(approval.token, approval.spender, answer);
    }

    /// @param value the amount, the item's ID, or whether all items are approved
    function _tryChange(address account, Approval memory approval, address spender, uint256 value)
        private
        returns (bool success, bytes memory answer)
    {
        bytes memory data = abi.encodeWithSelector(_approveSelector(approval), spender, value);
        try IAgentAccount(account).execute(approval.token, 0, data) returns (bytes memory output) {
            return (output.length == 0 || (output.length >= 32 && uint256(bytes32(output)) == 1), output);
        } catch (bytes memory reason) {
            return (false, reason);
        }
    }

    /// @dev ERC-20 and ERC-721 have one selector for `approve`.
    function _approveSelector(Approval memory approval) private pure returns (bytes4) {
        return approval.kind == ApprovalKind.ALL ? IERC721.setApprovalForAll.selector : IERC20.approve.selector;
    }

    function _execute(Plan memory plan) private returns (bytes memory output) {
        Call memory call = plan.call;
        uint256 place = _minimumPlace(call);
        uint256 minimum = 0;
        Approval[] memory measured = _listMeasured(plan);
        if (place != 0 || measured.length != 0) {
            (bytes memory tried, uint256[] memory taken) = _try(plan, measured);
            _approveTaken(plan, taken);
            if (place != 0) {
                Argument memory argument = call.arguments[place - 1];
                minimum = Math.mulDiv(_paid(call, tried), BASIS_POINTS - argument.number, BASIS_POINTS);
                plan.bodies[place - 1] = _word(plan.leaves[place - 1], minimum, argument);
            }
        }
        output = IAgentAccount(call.account).execute(call.target, plan.value, _calldata(plan));
        if (place != 0) {
            uint256 paid = _paid(call, output);
            if (paid < minimum) revert OutputBelowMinimum(paid, minimum);
        }
        if (call.mustReturnTrue && output.length >= 32 && uint256(bytes32(output)) == 0) {
            revert CallReturnedFalse(call.target, call.selector);
        }
    }

    /// @dev The approvals whose amounts a trial shows, in their order.
    function _listMeasured(Plan memory plan) private pure returns (Approval[] memory measured) {
        Approval[] memory approvals = plan.call.approvals;
        measured = new Approval[](approvals.length);
        uint256 count = 0;
        for (uint256 i = 0; i < approvals.length; i++) {
            if (_isMeasured(plan, approvals[i])) measured[count++] = approvals[i];
        }
        assembly ("memory-safe") {
            mstore(measured, count)
        }
    }

    function _approveTaken(Plan memory plan, uint256[] memory taken) private {
        Approval[] memory approvals = plan.call.approvals;
        uint256 next = 0;
        for (uint256 i = 0; i < approvals.length; i++) {
            if (!_isMeasured(plan, approvals[i])) continue;
            plan.given[i] = _approveAmount(plan.call.account, approvals[i], taken[next++]);
        }
    }

    /// @dev Without approvals of its own, a tool leaves it to the token whether the allowance is high enough.
    function _isMeasured(Plan memory plan, Approval memory approval) private pure returns (bool) {
        return approval.isMeasured && approval.isDerived && _isNeeded(plan, approval);
    }

    function _try(Plan memory plan, Approval[] memory measured)
        private
        returns (bytes memory output, uint256[] memory taken)
    {
        Call memory call = plan.call;
        try this.tryCall(call.account, call.target, plan.value, _calldata(plan), measured) {
            revert NotSelf(address(this)); // never: tryCall always reverts
        } catch (bytes memory reason) {
            // The account wraps what the target reverts with, so a target can't imitate this.
            if (bytes4(reason) != Tried.selector) revert TrialFailed(call.target, call.selector, reason);
            return abi.decode(_slice(reason, 4, reason.length), (bytes, uint256[]));
        }
    }

    function _calldata(Plan memory plan) private pure returns (bytes memory) {
        (bytes memory body,) = _join(plan.inputs, plan.bodies, 0);
        return bytes.concat(plan.call.selector, body);
    }

    /// @dev Joins the leaves of a tuple, from one on. Returns how many there were up to its end.
    function _join(AbiTypes.Type memory abiType, bytes[] memory bodies, uint256 next)
        private
        pure
        returns (bytes memory, uint256)
    {
        if (abiType.kind != AbiTypes.Kind.TUPLE) return (bodies[next], next + 1);
        bytes[] memory members = new bytes[](abiType.parts.length);
        for (uint256 i = 0; i < members.length; i++) {
            (members[i], next) = _join(abiType.parts[i], bodies, next);
        }
        return (AbiText.join(members, abiType.parts), next);
    }

    /// @dev The argument of source MINIMUM, counted from 1; 0 for none.
    function _minimumPlace(Call memory call) private pure returns (uint256) {
        for (uint256 i = 0; i < call.arguments.length; i++) {
            if (call.arguments[i].source == Source.MINIMUM) return i + 1;
        }
        return 0;
    }

    // -- outputs -- //

    /// @dev What the call paid out: the output that the minimum bounds, or the last item of it.
    function _paid(Call memory call, bytes memory output) private view returns (uint256 paid) {
        bool isMalformed;
        (paid, isMalformed) = texts.readLast(call.outputTypes, call.minimumOutput, output);
        if (isMalformed) revert MalformedOutput(call.target, call.selector, output.length);
    }

    function _describe(Plan memory plan, bytes memory output) private view returns (string memory) {
        if (plan.call.mustReturnTrue) return "Done";
        Output[] memory outputs = plan.call.outputs;
        address[][] memory tokens = new address[][](outputs.length);
        for (uint256 i = 0; i < outputs.length; i++) {
            if (outputs[i].unitArgument != 0) tokens[i] = _addresses(plan, outputs[i].unitArgument);
        }
        return texts.describe(plan.call.outputTypes, outputs, output, tokens);
    }

    /// @dev The addresses of an argument, counted from 1, that is an address or a list of addresses.
    function _addresses(Plan memory plan, uint256 argument) private pure returns (address[] memory found) {
        uint256[] memory words = _words(plan, argument);
        found = new address[](words.length);
        for (uint256 i = 0; i < found.length; i++) found[i] = address(uint160(words[i]));
    }

    /// @dev The words of an argument, counted from 1, that is one word or a list of words.
    function _words(Plan memory plan, uint256 argument) private pure returns (uint256[] memory found) {
        bytes memory body = plan.bodies[argument - 1];
        uint256 start = plan.leaves[argument - 1].kind == AbiTypes.Kind.ARRAY ? 32 : 0;
        found = new uint256[]((body.length - start) / 32);
        for (uint256 i = 0; i < found.length; i++) found[i] = _wordAt(body, start + 32 * i, "");
    }

    // -- data behind the code -- //

    function _call() private view returns (Call memory) {
        return abi.decode(_segment(3), (Call));
    }

    function _segment(uint256 index) private view returns (bytes memory segment) {
        if (address(this) == implementation) revert NotTool();
        uint256 lengths;
        assembly ("memory-safe") {
            extcodecopy(address(), 0, DATA_START, HEADER_BYTES)
            lengths := shr(128, mload(0))
        }
        uint256 start = DATA_START + HEADER_BYTES;
        for (uint256 i = 0; i < index; i++) start += uint32(lengths >> (96 - 32 * i));
        segment = new bytes(uint32(lengths >> (96 - 32 * index)));
        assembly ("memory-safe") {
            extcodecopy(address(), add(segment, 32), start, mload(segment))
        }
    }

    /// @dev Ends the call with data that are encoded already.
    function _return(bytes memory data) private pure {
        assembly ("memory-safe") {
            return(add(data, 32), mload(data))
        }
    }

    function _slice(bytes memory data, uint256 start, uint256 end) private pure returns (bytes memory slice) {
        slice = new bytes(end - start);
        assembly ("memory-safe") {
            mcopy(add(slice, 32), add(add(data, 32), start), mload(slice))
        }
    }
}
