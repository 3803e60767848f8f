"""The data of a tool, from the facts about a function: sources of values, units, approvals.

The model does not choose a value that can be derived: docs/architecture.md#execution-decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eth_utils import is_address, to_checksum_address

from pyevm_agents.contract_intelligence.capabilities import (
    NATIVE_UNIT,
    Approval,
    ApprovalKind,
    Derivation,
    Parameter,
    ParameterRole,
    Source,
)
from pyevm_agents.contract_intelligence.natspec_text import find_choices
from pyevm_agents.contract_intelligence.tool_limits import fit_outputs
from pyevm_agents.contract_intelligence.tool_spec import (
    MAX_WORD,
    VALUE_NAME,
    ZERO_ADDRESS,
    Argument,
    ArgumentLimits,
    CallValue,
    RequiredAllowance,
    ToolOutput,
    ToolSpec,
    is_amount_type,
    is_token_type,
)
from pyevm_agents.contract_intelligence.untrusted_text import NameTable, clean_label, clean_text
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability

TRUE_IS_SUCCESS = frozenset(
    {
        "transfer(address,uint256)",
        "transferFrom(address,address,uint256)",
        "approve(address,uint256)",
        "increaseAllowance(address,uint256)",
        "decreaseAllowance(address,uint256)",
    }
)
"""Functions whose `true` is success. Source: ERC-20, and OpenZeppelin's additions to it."""

SUCCESS_NAMES = frozenset({"success", "succeeded", "successful", "ok"})
"""Names of outputs that are success."""

DEADLINE_SECONDS = 1_200
"""Twenty minutes, as the pages of exchanges propose."""

SLIPPAGE_BPS = 50
"""Half a percent, as the pages of exchanges propose."""

MAX_PARAMETER_CHARACTERS = 160
MAX_DESCRIPTION_CHARACTERS = 480
"""Characters of descriptions: ten tools of five parameters have some 3,000 tokens."""

_REFERENCE = re.compile(r"(?P<path>[^\[\]]+)(?:\[(?P<item>0|-1)\])?")
"""A token that another parameter tells: `token`, or an item of it, `path[0]` or `path[-1]`."""

_SUCCESS = re.compile(r"(?i)\b(?:success|succeed(?:s|ed)?|successful(?:ly)?)\b")
_RECIPIENT = re.compile(
    r"(?i)\bwho (?:gets|receives|is paid)\b"
    r"|\b(?:recipients?|receivers?|beneficiar(?:y|ies)|payees?)\b"
)
_RECIPIENT_WORDS = frozenset(
    "to dst dest destination recipient recipients receiver receivers beneficiary beneficiaries "  # noqa: SIM905
    "payee payees heir winner winners behalf".split()
)
_OTHER_WORDS = frozenset(
    "from src sender spender operator payer token tokens asset assets".split()  # noqa: SIM905
)
"""Words of parameters that are no recipients, whatever their description says."""

_NEW_OWNER = "newowner"
_NUMBER = re.compile(r"u?int[0-9]+(\[[0-9]*\])*")
_UNNAMED = re.compile("(arg|out|ret)[0-9]*")
_TUPLE = re.compile(r"\(.*\)")
_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MINUTE_SECONDS = 60
_PERCENT_BPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUnit:
    """The unit of a token's amounts."""

    symbol: str
    decimals: int
    name: str = ""
    """What the token is also called, such as `Market Points`; empty if that is not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """Choices that a capability leaves open."""

    name: str = ""
    """The tool's name; empty for the function's."""

    contract_name: str = ""
    """The contract's name, for descriptions."""

    derives_approvals: bool = True
    """True: the tool approves what a call needs. False: its description says what comes first."""

    approval_tokens: tuple[str, ...] = ()
    """Tokens that need an approval if the model chooses them, in addition to a capability's, and
    where executions show none."""

    allowed_recipients: frozenset[str] = frozenset()
    """Paths of recipients that may be any address, also the token's, the target's and zero."""

    slippage_bps: int | None = None
    """None for that of the derivation, or `SLIPPAGE_BPS`."""

    deadline_seconds: int | None = None
    """None for that of the derivation, or `DEADLINE_SECONDS`."""

    value: CallValue | None = None
    """The wei of a call; None if the model chooses those of payable functions."""

    overrides: Mapping[str, Derivation | None] = field(default_factory=dict)
    """Derivations by the path of the parameter; None if the model chooses."""

    limits: Mapping[str, ArgumentLimits] = field(default_factory=dict)
    """By the path of the parameter."""

    units: Mapping[str, TokenUnit] = field(default_factory=dict)
    """Of tokens by their checksummed address, and of `native`."""

    handles: Mapping[str, str] = field(default_factory=dict)
    """Names of addresses, as a base prompt has them."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf of the function's parameters."""

    path: str
    """As the ABI names it."""

    parameter: Parameter
    argument: Argument


def build_tool_spec(
    function: FunctionCapability,
    *,
    target: str,
    account: str,
    options: ToolOptions | None = None,
) -> ToolSpec:
    """Return the data of a tool for a function of a contract.

    Input:  the function, the contract's address, the address of the agent's account.
    Raises: ConfigError: a derivation or an option does not fit the function.
    """
    chosen = ToolOptions() if options is None else options
    value = _choose_value(function, chosen)
    leaves = _build_leaves(function, chosen, has_value=value.is_chosen)
    allowances = tuple(_iter_allowances(function, leaves, chosen))
    place = to_checksum_address(target)
    tokens = tuple(_iter_tokens(function, leaves, allowances, place))
    if not function.is_read_only:
        leaves = tuple(_forbid(leaf, (place, *tokens), chosen) for leaf in leaves)
    outputs, output_types = function.outputs, fit_outputs(_format_types(function.outputs))
    if output_types == "()":
        outputs = ()  # A tool can't read them: its sentence leaves them out.
    return ToolSpec(
        name=NameTable().add(chosen.name or function.name, f"call {function.selector.hex()}"),
        description=_describe(function, leaves, allowances, chosen),
        account=to_checksum_address(account),
        target=place,
        selector=function.selector,
        input_types=_format_types(function.parameters),
        output_types=output_types,
        arguments=tuple(leaf.argument for leaf in leaves),
        value=value,
        allowances=allowances,
        outputs=tuple(_build_output(output, leaves, chosen) for output in outputs),
        minimum_output=_find_amount(outputs),
        must_return_true=_tells_success(function),
        is_read_only=function.is_read_only,
        tokens=tokens,
    )


def _tells_success(function: FunctionCapability) -> bool:
    """Whether the only output of a function is a flag of success.

    Another bool, such as the new state of a switch or a game that was won, is a result.
    """
    if [each.abi_type for each in function.outputs] != ["bool"] or function.is_read_only:
        return False
    [output] = function.outputs
    return (
        function.signature in TRUE_IS_SUCCESS
        or output.name.strip("_").lower() in SUCCESS_NAMES
        or _SUCCESS.search(output.description) is not None
    )


def _iter_tokens(
    function: FunctionCapability,
    leaves: tuple[_Leaf, ...],
    allowances: tuple[RequiredAllowance, ...],
    target: str,
) -> Iterator[str]:
    """Yield the tokens whose amounts a call counts, each once, without the target."""
    members = [each for leaf in leaves for each in (leaf.parameter, *_iter_members(leaf.parameter))]
    counted = [each.token for each in members]
    counted += [output.token for output in function.outputs]
    counted += [allowance.token for allowance in allowances]
    references = [match["path"] for match in map(_REFERENCE.fullmatch, counted) if match]
    fixed = [
        item
        for leaf in leaves
        if leaf.path in references and leaf.argument.source is Source.FIXED
        for item in _list_addresses(leaf.argument.value)
    ]
    for token in dict.fromkeys((*filter(is_address, counted), *fixed)):
        place = to_checksum_address(token)
        if place != target:
            yield place


def _format_types(parameters: tuple[Parameter, ...]) -> str:
    return f"({','.join(parameter.abi_type for parameter in parameters)})"


def _choose_value(function: FunctionCapability, options: ToolOptions) -> CallValue:
    if options.value is not None:
        return options.value
    if not function.is_payable:
        return CallValue()
    unit = options.units.get(NATIVE_UNIT)
    text = "amount of the chain's own token to send"
    text = f"amount of {_format_unit(unit)} to send" if unit else f"{text}, in wei"
    return CallValue(is_chosen=True, most_wei=MAX_WORD, description=text)


def _find_amount(outputs: tuple[Parameter, ...]) -> int:
    """Return the place of the last output that is an amount, or 0."""
    places = [place for place, each in enumerate(outputs) if is_amount_type(each.abi_type)]
    return places[-1] if places else 0


# -- arguments -- #


def _build_leaves(
    function: FunctionCapability, options: ToolOptions, *, has_value: bool
) -> tuple[_Leaf, ...]:
    names = NameTable()
    if has_value:
        names.add(VALUE_NAME)
    found = [*_iter_leaves(function.parameters, "")]
    paths = {path for path, _ in found}
    for path in (*options.overrides, *options.limits, *options.allowed_recipients):
        if path not in paths:
            raise ConfigError(
                f"parameter {path[:64]} of {function.name}: must be one of "
                f"{', '.join(sorted(paths)) or 'none'}"
            )
    return tuple(
        _Leaf(
            path, parameter, _build_argument(path, parameter, names.add(path, f"arg{i}"), options)
        )
        for i, (path, parameter) in enumerate(found)
    )


def _iter_leaves(parameters: tuple[Parameter, ...], prefix: str) -> Iterator[tuple[str, Parameter]]:
    for place, parameter in enumerate(parameters):
        path = f"{prefix}{parameter.name or f'arg{place}'}"
        if _TUPLE.fullmatch(parameter.abi_type) and parameter.components:
            yield from _iter_leaves(parameter.components, f"{path}.")
        else:
            yield path, parameter


def _build_argument(path: str, parameter: Parameter, name: str, options: ToolOptions) -> Argument:
    derivation = options.overrides.get(path, parameter.derivation)
    argument = Argument(
        name=name,
        abi_type=parameter.abi_type,
        description=_describe_parameter(parameter, options),
        limits=options.limits.get(path, _limit(parameter)),
    )
    if derivation is None or derivation.source is Source.MODEL:
        return argument
    seconds, slippage_bps = options.deadline_seconds, options.slippage_bps
    if derivation.source is Source.DEADLINE:
        seconds = derivation.seconds or DEADLINE_SECONDS if seconds is None else seconds
        return replace(argument, source=Source.DEADLINE, seconds=seconds)
    if derivation.source is Source.MINIMUM:
        if slippage_bps is None:
            slippage_bps = derivation.slippage_bps or SLIPPAGE_BPS
        return replace(argument, source=Source.MINIMUM, slippage_bps=slippage_bps)
    return replace(argument, source=derivation.source, value=derivation.value)


def _forbid(leaf: _Leaf, places: tuple[str, ...], options: ToolOptions) -> _Leaf:
    """Return a leaf that, as a recipient, may not be one of the contracts, or address zero.

    Input: places: the target, and the tokens that the call counts.
    """
    argument = leaf.argument
    members = [each for each in _iter_members(leaf.parameter) if "address" in each.abi_type]
    recipients = [each for each in members if is_recipient(each)]
    is_chosen = argument.source is Source.MODEL and leaf.path not in options.allowed_recipients
    if not recipients or not is_chosen:
        return leaf
    # A list of tuples may name tokens beside the recipients.
    forbidden = places if len(recipients) == len(members) else places[:1]
    limits = replace(argument.limits, forbidden=(ZERO_ADDRESS, *forbidden))
    return replace(leaf, argument=replace(argument, limits=limits))


def list_recipients(function: FunctionCapability) -> list[str]:
    """Return the paths of a function's parameters that are recipients."""
    return [
        path
        for path, parameter in _iter_leaves(function.parameters, "")
        for member in _iter_members(parameter)
        if "address" in member.abi_type and is_recipient(member)
    ]


def is_recipient(parameter: Parameter) -> bool:
    """Return whether an address receives assets: by an execution, role, name or text."""
    words = {each.lower() for each in _WORD.findall(parameter.name)}
    if parameter.is_recipient or parameter.role is ParameterRole.RECIPIENT:
        return True
    if words & _OTHER_WORDS:
        return False
    is_named = bool(words & _RECIPIENT_WORDS) or parameter.name.lower() == _NEW_OWNER
    return is_named or _RECIPIENT.search(parameter.description) is not None


def _limit(parameter: Parameter) -> ArgumentLimits:
    """Return the limits of a parameter that executions show: members of an enum, tokens."""
    if parameter.enum and parameter.members:
        return ArgumentLimits(least=0, most=parameter.members - 1)
    return ArgumentLimits(allowed=parameter.tokens)


def _describe_parameter(parameter: Parameter, options: ToolOptions) -> str:
    text = clean_text(parameter.description, MAX_PARAMETER_CHARACTERS).rstrip(".")
    if parameter.enum and parameter.members and not find_choices(text):
        # The executor reads a range of this form.
        span = f"from 0 to {parameter.members - 1}"
        return f"{text}, {span}" if text else f"{parameter.enum} {span}"
    unit = options.units.get(_find_unit(parameter))
    if unit is None:
        return text
    return f"{text}, in {_format_unit(unit)}" if text else f"amount of {_format_unit(unit)}"


def _find_unit(parameter: Parameter) -> str:
    """Return the token that a parameter counts, or that the only number of the items counts."""
    numbers = [each for each in _iter_members(parameter) if _NUMBER.fullmatch(each.abi_type)]
    return numbers[0].token if len(numbers) == 1 else parameter.token


def _iter_members(parameter: Parameter) -> Iterator[Parameter]:
    """Yield the members of a list of tuples, or the parameter itself."""
    if not parameter.components:
        yield parameter
    for member in parameter.components:
        yield from _iter_members(member)


def _format_unit(unit: TokenUnit) -> str:
    # The executor scales the model's number by the decimals that a description states.
    return f"{name_unit(unit)}, {unit.decimals} decimals"


def name_unit(unit: TokenUnit) -> str:
    """Return the symbol of a unit, with the name in brackets: `PTS (Market Points)`."""
    symbol, name = clean_label(unit.symbol, "the token"), clean_label(unit.name, "")
    return f"{symbol} ({name})" if name else symbol


# -- approvals -- #


def _iter_allowances(
    function: FunctionCapability, leaves: tuple[_Leaf, ...], options: ToolOptions
) -> Iterator[RequiredAllowance]:
    by_path = {leaf.path: leaf for leaf in leaves}
    for approval in function.approvals:
        amount = by_path.get(approval.parameter)
        if amount is not None and not is_amount_type(amount.argument.abi_type):
            amount = None
        kind = approval.kind
        if kind is ApprovalKind.ITEM and amount is None:
            kind = ApprovalKind.ALL
        is_told = amount is not None and kind is ApprovalKind.AMOUNT
        if not options.derives_approvals and not is_told:
            continue  # The description tells it, or the token refuses the call.
        token_leaf = _find_token_leaf(amount, by_path) or _find_example_token(
            function, approval.token, by_path
        )
        tokens = [*filter(is_address, (approval.token,))]
        if token_leaf is not None and kind is ApprovalKind.AMOUNT:
            tokens = _list_choices(token_leaf, tokens, options)
        for token in dict.fromkeys(map(to_checksum_address, tokens)):
            yield RequiredAllowance(
                token=token,
                spender=to_checksum_address(approval.spender),
                kind=kind,
                is_derived=options.derives_approvals,
                is_measured=kind is ApprovalKind.AMOUNT and amount is None,
                amount_argument=amount.argument.name if amount else "",
                tokens_argument=token_leaf.argument.name if token_leaf else "",
            )


def _list_choices(leaf: _Leaf, tokens: list[str], options: ToolOptions) -> list[str]:
    """Return the tokens that an argument may name as the token of an amount.

    Input: tokens: that of the approval.
    """
    if leaf.argument.source is Source.MODEL:
        return [*tokens, *(leaf.parameter.tokens or options.approval_tokens)]
    return [leaf.argument.value] if isinstance(leaf.argument.value, str) else tokens


def _find_token_leaf(amount: _Leaf | None, by_path: dict[str, _Leaf]) -> _Leaf | None:
    """Return the leaf with the token of an amount, if the first item is the token."""
    reference = _REFERENCE.fullmatch(amount.parameter.token) if amount else None
    if reference is None or reference["item"] == "-1":
        return None
    leaf = by_path.get(reference["path"])
    return leaf if leaf and is_token_type(leaf.argument.abi_type) else None


def _find_example_token(
    function: FunctionCapability, token: str, by_path: dict[str, _Leaf]
) -> _Leaf | None:
    """Return the leaf with the token of an approval in the example call."""
    if function.example is None:
        return None
    for parameter, value in zip(function.parameters, function.example.args, strict=False):
        items = value if isinstance(value, list | tuple) else (value,)
        leaf = by_path.get(parameter.name)
        is_token = leaf is not None and is_token_type(leaf.argument.abi_type)
        if is_token and items and str(items[0]).lower() == token.lower():
            return leaf
    return None


# -- outputs -- #


def _build_output(output: Parameter, leaves: tuple[_Leaf, ...], options: ToolOptions) -> ToolOutput:
    name = "" if _UNNAMED.fullmatch(output.name) else NameTable().add(output.name or "_", "output")
    shown = ToolOutput(name="" if name in {"_", "output"} else name)
    unit = options.units.get(output.token)
    if unit is None:
        token, unit_argument = _find_output_token(output, leaves)
        unit = options.units.get(token)
        if unit is None:
            return replace(shown, unit_argument=unit_argument)
    symbol = clean_label(unit.symbol, "")
    return replace(shown, symbol=symbol, decimals=unit.decimals if symbol else 0)


def _find_output_token(output: Parameter, leaves: tuple[_Leaf, ...]) -> tuple[str, str]:
    """Return the token of an output's unit if fixed, and the argument with the token."""
    is_list = re.fullmatch(r"u?int[0-9]+\[[0-9]*\]", output.abi_type) is not None
    if not is_list and not re.fullmatch("u?int[0-9]+", output.abi_type):
        return "", ""
    token = output.token
    if not token and is_list:
        # A list of amounts beside a path: the path is what amounts among the parameters refer to.
        tokens = (leaf.parameter.token for leaf in leaves)
        token = next((each for each in tokens if each.endswith(("[0]", "[-1]"))), "")
    reference = _REFERENCE.fullmatch(token)
    leaf = next((each for each in leaves if reference and each.path == reference["path"]), None)
    if reference is None or leaf is None or not is_token_type(leaf.argument.abi_type):
        return "", ""
    if is_list or reference["item"] != "0":
        return "", leaf.argument.name
    return _get_first_token(leaf.argument.value), ""


def _get_first_token(value: Any) -> str:  # noqa: ANN401 - the value of a derivation
    return next(iter(_list_addresses(value)), "")


def _list_addresses(value: object) -> list[str]:
    """Return the addresses of a fixed value, which is one address or a list."""
    items = value if isinstance(value, list | tuple) else [value]
    return [str(each) for each in items]


# -- descriptions -- #


def _describe(
    function: FunctionCapability,
    leaves: tuple[_Leaf, ...],
    allowances: tuple[RequiredAllowance, ...],
    options: ToolOptions,
) -> str:
    """Return the tool's description: action, values set by the tool, and needs."""
    contract = clean_label(options.contract_name, "the contract")
    text = clean_text(function.description) or f"{describe_name(function)} ({contract})"
    sentences = [f"{text.rstrip('.')}."]
    derived = [_describe_derivation(leaf, options) for leaf in leaves]
    if any(derived):
        sentences.append(f"Set by the tool: {'; '.join(filter(None, derived))}.")
    if allowances and options.derives_approvals:
        approved = [_name_approved(each, options) for each in allowances]
        sentences.append(f"It approves {_join(approved)} by itself.")
    if not options.derives_approvals:
        sentences += [
            _describe_approval(approval, contract, options) for approval in function.approvals
        ]
    return clean_text(" ".join(sentences), MAX_DESCRIPTION_CHARACTERS)


def describe_name(function: FunctionCapability) -> str:
    """Return a description of a function without one, from the words of the name."""
    base = function.signature.partition("(")[0]
    words = [each if each.isupper() else each.lower() for each in _WORD.findall(base)]
    if not base.isidentifier() or not words:
        return f"Calls {function.name}"
    if function.is_read_only:
        words = ["read", *(words[1:] if words[0] == "get" and len(words) > 1 else words)]
    return " ".join((words[0].capitalize(), *words[1:]))


def _describe_derivation(leaf: _Leaf, options: ToolOptions) -> str:
    argument = leaf.argument
    derivation = options.overrides.get(leaf.path, leaf.parameter.derivation)
    if derivation is None or argument.source is Source.MODEL:
        return ""
    # A number in the sentence of a derivation may differ from that of an option.
    is_changed = argument.seconds != derivation.seconds
    is_changed = is_changed or argument.slippage_bps != derivation.slippage_bps
    if derivation.sentence and not is_changed:
        return clean_text(derivation.sentence, MAX_PARAMETER_CHARACTERS).rstrip(".")
    match argument.source:
        case Source.ACCOUNT:
            text = "the agent's account"
        case Source.DEADLINE:
            text = f"{_format_seconds(argument.seconds)} after the block's time"
        case Source.MINIMUM:
            text = f"what a trial pays out, less {argument.slippage_bps / _PERCENT_BPS:g} percent"
        case _:
            text = "a fixed value"
    return f"{argument.name}: {text}"


def _format_seconds(seconds: int) -> str:
    if seconds % _MINUTE_SECONDS:
        return f"{seconds} seconds"
    return f"{seconds // _MINUTE_SECONDS} minutes"


def _describe_approval(approval: Approval, contract: str, options: ToolOptions) -> str:
    symbol = _get_symbol(approval.token, options)
    name = clean_label(approval.parameter, "")
    token = options.handles.get(approval.token, approval.token)
    spender = options.handles.get(approval.spender, approval.spender)
    if approval.kind is ApprovalKind.ALL:
        return f"First {token} needs setApprovalForAll for {spender}."
    if approval.kind is ApprovalKind.ITEM:
        item = f" of the item {name}" if name else " of the item"
        return f"First {token} needs an approval{item} for {spender}."
    amount = f" of {name}" if name else ""
    return f"First {symbol} needs an approval{amount} for {contract}."


def _name_approved(allowance: RequiredAllowance, options: ToolOptions) -> str:
    if allowance.kind is ApprovalKind.AMOUNT:
        return _get_symbol(allowance.token, options)
    return "the item" if allowance.kind is ApprovalKind.ITEM else "the items"


def _get_symbol(token: str, options: ToolOptions) -> str:
    unit = options.units.get(token)
    return clean_label(unit.symbol, "the token") if unit else "the token"


def _join(symbols: list[str]) -> str:
    *others, last = dict.fromkeys(symbols)
    return f"{', '.join(others)} and {last}" if others else last
