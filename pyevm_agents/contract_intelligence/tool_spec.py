"""The data of a tool that calls one function of one contract: `contracts/tools/AbiTool.sol`.

The parameters of the function are flattened: a tuple outside of arrays becomes the members, so each
leaf has a path, such as `order.token`, and a source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from eth_abi import decode, encode
from eth_abi.exceptions import ABITypeError, DecodingError, EncodingError, ParseError
from eth_abi.grammar import ABIType, TupleType, parse
from eth_utils import is_address, to_checksum_address

from precompiles.abi import ParamDescription, ParamType
from precompiles.spec import MAX_METADATA_BYTES, MAX_PARAMETERS, SELECTOR_BYTES
from precompiles.tool_metadata import compute_look, find_name_flaw
from precompiles.typed_texts import attach_types
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import is_abi_type
from pyevm_agents.contract_intelligence.capabilities import ApprovalKind, Source
from pyevm_agents.contract_intelligence.tool_limits import (
    LAST_PRECOMPILE,
    MAX_BASIS_POINTS,
    MAX_DECIMALS,
    MAX_SECONDS,
    MAX_SPEC_BYTES,
    find_type_flaw,
)
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eth_typing import ChecksumAddress

MAX_WORD = 2**256 - 1
VALUE_NAME = "value"
"""Name of the tool's last parameter, if the model chooses the wei of a call."""

ZERO_ADDRESS = "0x" + "00" * 20

CALL_MARKER = re.compile(r" ?\[call:(?P<mode>reads|writes)(?P<places>(?: 0x[0-9a-fA-F]{40})*)\]\Z")
"""End of a tool's description: whether its call writes, and contracts that are no recipients of it.
"""

_SOURCES = tuple(Source)
"""Sources by their number in Solidity."""

_KINDS = tuple(ApprovalKind)
"""Kinds of approvals by their number in Solidity."""

APPROVE, SET_APPROVAL_FOR_ALL = bytes.fromhex("095ea7b3"), bytes.fromhex("a22cb465")

CREATION_BYTES = 20
"""Bytes that a tool's data have less than the calldata of its creation: the selector and an offset,
without four lengths. Source: AbiToolFactory.sol."""

_TYPE_MARKER = re.compile(r"\[abi:[^ ]*\]\Z")
_LIST = re.compile(r"(?P<item>.+)\[\]")
_INTEGER = re.compile(r"(?P<sign>u?)int(?P<bits>[0-9]+)")
_ERC_TYPES = {
    "string": ParamType.STRING,
    "address": ParamType.ADDRESS,
    "bool": ParamType.BOOL,
    "int256": ParamType.INT,
    "uint256": ParamType.UINT,
}
_LISTS = {
    ParamType.STRING: ParamType.STRING_ARRAY,
    ParamType.ADDRESS: ParamType.ADDRESS_ARRAY,
    ParamType.BOOL: ParamType.BOOL_ARRAY,
    ParamType.INT: ParamType.INT_ARRAY,
    ParamType.UINT: ParamType.UINT_ARRAY,
}


# -- data -- #


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentLimits:
    """Limits of the model's choice, for every integer and every address in an argument."""

    least: int | None = None
    most: int | None = None
    """Both, or neither."""

    allowed: tuple[str, ...] = ()
    """If not empty, the only addresses."""

    forbidden: tuple[str, ...] = ()
    """Of a recipient: addresses that it may not have, such as a token and address zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A leaf of the function's parameters, and the source of the value."""

    name: str
    """Its path, such as `order.token`. The tool's parameter has this name."""

    abi_type: str
    source: Source = Source.MODEL
    description: str = ""
    """For the model, without a marker of the type."""

    seconds: int = 0
    slippage_bps: int = 0
    value: object = None
    """The value of a fixed argument, as eth_abi encodes it."""

    limits: ArgumentLimits = ArgumentLimits()

    @property
    def param_type(self) -> ParamType:
        """The ERC's type of the parameter."""
        return choose_param_type(self.abi_type)[0]

    @property
    def marked_description(self) -> str:
        """The argument's description in the tool, with a marker such as `[abi:uint8]` if needed."""
        marker = choose_param_type(self.abi_type)[1]
        return " ".join(filter(None, (self.description, marker and f"[abi:{marker}]")))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallValue:
    """The wei that go with the call."""

    is_chosen: bool = False
    """Whether the model chooses them, as the tool's last parameter."""

    least_wei: int = 0
    """The wei of every call; if the model chooses, the least."""

    most_wei: int = 0
    """If the model chooses, the most."""

    description: str = ""
    """For the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredAllowance:
    """An approval that the call needs. The tool takes back the unused rest."""

    token: str
    spender: str
    kind: ApprovalKind = ApprovalKind.AMOUNT
    is_derived: bool = True
    """True: the tool approves first. False: it refuses the call without allowance."""

    is_measured: bool = False
    """Whether only the contract knows the amount: a trial of the call shows it."""

    amount: int = 0
    """Base units, unless an argument has the amount, or it is measured."""

    amount_argument: str = ""
    """The argument with the amount or the item's ID, or with a list of them."""

    tokens_argument: str = ""
    """An argument of tokens. The approval is needed only if its first address is the token. Of a
    list of amounts, those count whose token it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """An output of the function, as needed for the sentence."""

    name: str = ""
    symbol: str = ""
    """The unit of its integers; empty for plain numbers."""

    decimals: int = 0
    unit_argument: str = ""
    """An argument of tokens in whose units the output is: item by item, or in the last one's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPermission:
    """A call for which the account registers the tool: `AgentAccount.Permission`."""

    target: str
    selector: bytes
    max_value_wei: int
    spender: str = ZERO_ADDRESS

    def as_abi(self) -> tuple[object, ...]:
        """Return the values of the Solidity struct."""
        return (self.target, self.selector, self.max_value_wei, self.spender)


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """Everything about a tool: `IAbiTool.Spec`.

    Raises: ConfigError: the data do not fit together.
    """

    name: str
    description: str
    account: str
    target: str
    selector: bytes
    input_types: str
    """The types of the parameters as a tuple, such as `(address,uint256)`; `()` for none."""

    output_types: str = "()"
    arguments: tuple[Argument, ...] = ()
    value: CallValue = field(default_factory=CallValue)
    allowances: tuple[RequiredAllowance, ...] = ()
    outputs: tuple[ToolOutput, ...] = ()
    minimum_output: int = 0
    """The place of the output that an argument of source MINIMUM bounds."""

    must_return_true: bool = False
    """Whether the only output is a bool that tells success: a call that returns false failed."""

    is_read_only: bool | None = None
    """Whether the function is `view` or `pure`; None if that is not known."""

    tokens: tuple[str, ...] = ()
    """The tokens whose amounts the call counts, without the target: no recipients of it."""

    def __post_init__(self) -> None:
        """Check the data."""
        _check_names(self)
        for what, address in (("account", self.account), ("target", self.target)):
            _check_address(f"{what} of tool {self.name}", address)
        if len(self.selector) != SELECTOR_BYTES:
            raise ConfigError(f"selector {self.selector.hex()}: must be {SELECTOR_BYTES} bytes")
        for token in self.tokens:
            _check_address(f"token of tool {self.name}", token)
        if int(self.target, 16) <= LAST_PRECOMPILE or self.target == self.account:
            raise ConfigError(
                f"target of tool {self.name} {self.target}: must be no precompile, and not the "
                "account"
            )
        _check_types(self)
        for argument in self.arguments:
            _check_argument(argument)
        _check_value(self)
        _check_minimum(self)
        _check_references(self)
        _check_metadata(self)
        _check_size(self)

    @property
    def marked_description(self) -> str:
        """The tool's description, with a marker such as `[call:writes 0x…]` at the end.

        The marker names the target and the tokens. It is empty for a function without known
        effects.
        """
        if self.is_read_only is None:
            return self.description
        mode = "reads" if self.is_read_only else "writes"
        marker = f"[call:{' '.join((mode, self.target, *self.tokens))}]"
        return " ".join(filter(None, (self.description, marker)))

    @property
    def model_parameters(self) -> tuple[tuple[ParamType, str, str], ...]:
        """The tool's parameters: ERC types, names and descriptions."""
        chosen = tuple(
            (argument.param_type, argument.name, argument.marked_description)
            for argument in self.arguments
            if argument.source is Source.MODEL
        )
        value = ((ParamType.UINT, VALUE_NAME, self.value.description),)
        return chosen + value if self.value.is_chosen else chosen

    @cached_property
    def permissions(self) -> tuple[ToolPermission, ...]:
        """The calls for which the account has to register the tool, as `AbiTool.permissions`."""
        most = self.value.most_wei if self.value.is_chosen else self.value.least_wei
        return (
            ToolPermission(target=self.target, selector=self.selector, max_value_wei=most),
            *(
                ToolPermission(
                    target=each.token,
                    selector=SET_APPROVAL_FOR_ALL if each.kind is ApprovalKind.ALL else APPROVE,
                    max_value_wei=0,
                    spender=each.spender,
                )
                for each in self.allowances
                if each.is_derived
            ),
        )

    def as_abi(self) -> tuple[Any, ...]:
        """Return the values of the Solidity struct."""
        places = {argument.name: place for place, argument in enumerate(self.arguments, start=1)}
        places[""] = 0
        call = (
            self.account,
            self.target,
            self.selector,
            self.input_types,
            self.output_types,
            [_encode_argument(argument) for argument in self.arguments],
            (self.value.is_chosen, self.value.least_wei, self.value.most_wei),
            [
                (
                    _KINDS.index(each.kind), each.token, each.spender, each.is_derived,
                    each.is_measured, each.amount,
                    places[each.amount_argument], places[each.tokens_argument],
                )
                for each in self.allowances
            ],
            [
                (each.name, each.symbol, each.decimals, places[each.unit_argument])
                for each in self.outputs
            ],
            self.minimum_output,
            self.must_return_true,
        )  # fmt: skip
        parameters = [(kind.value, *texts) for kind, *texts in self.model_parameters]
        return (self.name, self.marked_description, (parameters,), call)

    def encode_creation(self) -> bytes:
        """Return the calldata of `AbiToolFactory.create`."""
        return load_artifact("AbiToolFactory").encode_call("create", self.as_abi())

    def encode_registration(self, tool: str) -> bytes:
        """Return the calldata of `AgentAccount.registerTool` for the tool at an address."""
        permissions = [permission.as_abi() for permission in self.permissions]
        return load_artifact("AgentAccount").encode_call("registerTool", tool, permissions)


# -- types -- #


def choose_param_type(abi_type: str) -> tuple[ParamType, str]:
    """Return the ERC's type of a parameter for a Solidity type, and the type of the marker.

    Output: the marker's type is empty for the ERC's own types. In a list's marker stands the items'
        type; composites, such as `(address,uint24)[]`, are texts.
    """
    is_list = _LIST.fullmatch(abi_type)
    item = is_list["item"] if is_list else abi_type
    if item.endswith(("]", ")")):
        return ParamType.STRING, abi_type
    kind = _ERC_TYPES.get(item)
    marker = "" if kind is not None else item
    if kind is None:
        integer = _INTEGER.fullmatch(item)
        kind = ParamType.STRING
        if integer:
            kind = ParamType.UINT if integer["sign"] else ParamType.INT
    return (_LISTS[kind] if is_list else kind), marker


def flatten_types(types: str) -> list[str]:
    """Return the types of the leaves of a tuple: members of tuples outside of arrays.

    Raises: ConfigError: not types.
    """
    return [leaf for part in _parse_types(types) for leaf in _flatten(part)]


def _flatten(kind: ABIType) -> list[str]:
    if isinstance(kind, TupleType) and not kind.is_array:
        return [leaf for part in kind.components for leaf in _flatten(part)]
    return [_format_type(kind)]


def _parse_types(types: str) -> tuple[ABIType, ...]:
    if types == "()":
        return ()
    if not is_abi_type(types):
        raise ConfigError(f"types {types[:80]}: must be a tuple such as (address,uint256)")
    kind = parse(types)
    if not isinstance(kind, TupleType) or kind.is_array:
        raise ConfigError(f"types {types[:80]}: must be a tuple such as (address,uint256)")
    return tuple(kind.components)


def _format_type(kind: ABIType) -> str:
    return str(kind.to_type_str())  # type: ignore[no-untyped-call] # eth_abi has no types here


def _iter_elementary(abi_type: str) -> set[str]:
    return set(re.findall("[a-z]+[0-9]*", abi_type))


# -- checks -- #


def _check_names(spec: ToolSpec) -> None:
    names = [name for _, name, _ in spec.model_parameters]
    for name in (spec.name, *names):
        flaw = find_name_flaw(name)
        if flaw:
            raise ConfigError(f"tool {spec.name[:64]}: {flaw}")
    if len({compute_look(name) for name in names}) != len(names):
        raise ConfigError(f"parameters {', '.join(names)}: must not look alike")
    paths = [argument.name for argument in spec.arguments]
    if len(set(paths)) != len(paths) or "" in paths:
        raise ConfigError(f"arguments of tool {spec.name}: must have different names")


def _check_types(spec: ToolSpec) -> None:
    """Check the types, and that there is an argument and an output for each."""
    for what, types in (("parameters", spec.input_types), ("outputs", spec.output_types)):
        flaw = find_type_flaw(types)
        if flaw:
            raise ConfigError(f"{what} {types[:80]} of tool {spec.name}: {flaw}")
    leaves = flatten_types(spec.input_types)
    if [argument.abi_type for argument in spec.arguments] != leaves:
        raise ConfigError(f"arguments of tool {spec.name}: must be of types {leaves}")
    if len(spec.outputs) != len(_parse_types(spec.output_types)):
        raise ConfigError(f"outputs of tool {spec.name}: must be one for each type")
    if spec.must_return_true and spec.output_types != "(bool)":
        raise ConfigError(f"outputs {spec.output_types}: must be (bool) to tell success")


def _check_address(what: str, address: str) -> None:
    if not is_address(address) or address == ZERO_ADDRESS:
        raise ConfigError(f"{what} {address[:64]}: must be an address other than zero")


def _check_argument(argument: Argument) -> None:
    name, limits = argument.name, argument.limits
    if argument.source is Source.ACCOUNT and argument.abi_type != "address":
        raise ConfigError(f"argument {name}: the account is an address, not {argument.abi_type}")
    is_uint = argument.abi_type.startswith("uint") and not argument.abi_type.endswith("]")
    if argument.source in {Source.DEADLINE, Source.MINIMUM} and not is_uint:
        raise ConfigError(
            f"argument {name}: a {argument.source} is a uint, not {argument.abi_type}"
        )
    if not 0 <= argument.seconds <= MAX_SECONDS:
        raise ConfigError(f"seconds {argument.seconds} of {name}: must be 0 to {MAX_SECONDS}")
    if not 0 <= argument.slippage_bps <= MAX_BASIS_POINTS:
        raise ConfigError(
            f"slippage of {argument.slippage_bps} basis points of {name}: must be 0 to "
            f"{MAX_BASIS_POINTS}"
        )
    if argument.source is Source.FIXED:
        _encode_fixed(argument)
    _check_limits(name, _iter_elementary(argument.abi_type), limits)


def _check_limits(name: str, kinds: set[str], limits: ArgumentLimits) -> None:
    _check_lists(name, kinds, limits)
    if limits.least is None and limits.most is None:
        return
    integers = {match["sign"] for match in map(_INTEGER.fullmatch, kinds) if match}
    if len(integers) != 1:
        raise ConfigError(f"bounds of {name}: must be for integers, signed or unsigned")
    if limits.least is None or limits.most is None or limits.least > limits.most:
        raise ConfigError(f"bounds {limits.least} to {limits.most} of {name}: must be least, most")
    span = range(2**256) if integers == {"u"} else range(-(2**255), 2**255)
    if limits.least not in span or limits.most not in span:
        raise ConfigError(f"bounds {limits.least} to {limits.most} of {name}: must fit a word")


def _check_lists(name: str, kinds: set[str], limits: ArgumentLimits) -> None:
    """Check the addresses that an argument may have, and may not have."""
    for address in limits.allowed:
        _check_address(f"allowed address of {name}", address)
    for address in limits.forbidden:
        if not is_address(address):
            raise ConfigError(f"forbidden address {address[:64]} of {name}: must be an address")
    for what, addresses in (("allowed", limits.allowed), ("forbidden", limits.forbidden)):
        if addresses and "address" not in kinds:
            raise ConfigError(f"{what} addresses of {name}: must be for an argument with addresses")


def _check_value(spec: ToolSpec) -> None:
    value = spec.value
    if not 0 <= value.least_wei <= MAX_WORD or not 0 <= value.most_wei <= MAX_WORD:
        raise ConfigError(f"value of tool {spec.name}: must be 0 to 2**256 - 1 wei")
    if value.is_chosen and value.least_wei > value.most_wei:
        raise ConfigError(
            f"value of {value.least_wei} to {value.most_wei} wei: must be least, most"
        )


def _check_minimum(spec: ToolSpec) -> None:
    minimums = [each.name for each in spec.arguments if each.source is Source.MINIMUM]
    if len(minimums) > 1:
        raise ConfigError(f"minimums {', '.join(minimums)}: must be one at most")
    if not minimums:
        return
    kinds = [_format_type(kind) for kind in _parse_types(spec.output_types)]
    kind = kinds[spec.minimum_output] if spec.minimum_output in range(len(kinds)) else "none"
    if not is_amount_type(kind):
        raise ConfigError(
            f"output {spec.minimum_output} of type {kind}: must be a uint or a list of uints, "
            f"which {minimums[0]} bounds"
        )


def is_amount_type(abi_type: str) -> bool:
    """Return whether a type is an amount, or a list of amounts: a uint, or uints."""
    return re.fullmatch(r"uint[0-9]+(\[[0-9]*\])?", abi_type) is not None


def _check_references(spec: ToolSpec) -> None:
    types = {argument.name: argument.abi_type for argument in spec.arguments}
    for allowance in spec.allowances:
        _check_address("token of an approval", allowance.token)
        _check_address("spender of an approval", allowance.spender)
        if not 0 <= allowance.amount <= MAX_WORD:
            raise ConfigError(f"approval of {allowance.amount}: must be 0 to 2**256 - 1")
        amount = allowance.amount_argument
        if amount and not is_amount_type(types.get(amount, "")):
            raise ConfigError(
                f"amount {amount} of an approval: must be an argument that is a uint, or a list of "
                "uints"
            )
        _check_kind(allowance)
        _check_tokens(allowance.tokens_argument, types)
    for output in spec.outputs:
        if not 0 <= output.decimals <= MAX_DECIMALS:
            raise ConfigError(f"decimals {output.decimals}: must be 0 to {MAX_DECIMALS}")
        _check_tokens(output.unit_argument, types)


def _check_metadata(spec: ToolSpec) -> None:
    """Check that the executor can read the tool's metadata. Source: precompiles/spec.py."""
    parameters = spec.model_parameters
    if len(parameters) > MAX_PARAMETERS:
        raise ConfigError(
            f"tool {spec.name}: asks for {len(parameters)} parameters, at most {MAX_PARAMETERS}"
        )
    described = [
        ParamDescription(param_type=kind, name=name, description=text)
        for kind, name, text in parameters
    ]
    for parameter in attach_types(described):
        if _TYPE_MARKER.search(parameter.description) and parameter.abi_type is None:
            raise ConfigError(
                f"parameter {parameter.name} of tool {spec.name}: is of a type that is too large "
                "for the executor"
            )
    texts = {
        "description": encode(["string"], [spec.marked_description]),
        "parameters": encode(["((uint8,string,string)[])"], [spec.as_abi()[2]]),
    }
    for what, data in texts.items():
        if len(data) > MAX_METADATA_BYTES:
            raise ConfigError(
                f"{what} of tool {spec.name}: {len(data):,} bytes, must be at most "
                f"{MAX_METADATA_BYTES:,}"
            )


def _check_size(spec: ToolSpec) -> None:
    size = len(spec.encode_creation()) - CREATION_BYTES
    if size > MAX_SPEC_BYTES:
        raise ConfigError(
            f"data of tool {spec.name}: {size:,} bytes, must be at most {MAX_SPEC_BYTES:,}"
        )


def _check_kind(allowance: RequiredAllowance) -> None:
    """Check an approval by its kind."""
    is_amount = allowance.kind is ApprovalKind.AMOUNT
    if allowance.kind is ApprovalKind.ITEM and not allowance.amount_argument:
        raise ConfigError("approval of an item: must have an argument with the item's ID")
    if not is_amount and not allowance.is_derived:
        raise ConfigError(f"approval of kind {allowance.kind}: must be derived")
    if allowance.is_measured and (allowance.amount_argument or not is_amount):
        raise ConfigError("measured approval: must be of an amount that no argument has")


def _check_tokens(name: str, types: Mapping[str, str]) -> None:
    if name and not is_token_type(types.get(name, "")):
        raise ConfigError(f"tokens {name}: must be an argument with an address, or a list of them")


def is_token_type(abi_type: str) -> bool:
    """Return whether an argument can name tokens: an address, or a list of addresses."""
    return re.fullmatch(r"address(\[[0-9]*\])?", abi_type) is not None


# -- encoding -- #


def _encode_argument(argument: Argument) -> tuple[object, ...]:
    limits = argument.limits
    is_bounded = limits.least is not None
    number = argument.seconds if argument.source is Source.DEADLINE else 0
    if argument.source is Source.MINIMUM:
        number = argument.slippage_bps
    return (
        argument.name,
        _SOURCES.index(argument.source),
        number,
        _encode_fixed(argument) if argument.source is Source.FIXED else b"",
        (
            is_bounded,
            (limits.least or 0) & MAX_WORD,
            (limits.most or 0) & MAX_WORD,
            list(limits.allowed),
            list(limits.forbidden),
        ),
    )


def _encode_fixed(argument: Argument) -> bytes:
    try:
        return encode([argument.abi_type], [argument.value])
    except (EncodingError, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"fixed value of {argument.name}: must be of type {argument.abi_type}"
        ) from error


# -- reading -- #


def read_tool_spec(call: Callable[[str, bytes], bytes], tool: str) -> ToolSpec:
    """Return the data of a deployed tool.

    Input: a function that calls an address with calldata, and returns the output; the tool's
        address.
    Raises: ConfigError: the contract has no such data.
    """
    output = call(tool, load_artifact("AbiTool").encode_call("spec"))
    try:
        return parse_tool_spec(load_artifact("AbiTool").decode_result("spec", output))
    except (DecodingError, ABITypeError, ParseError, UnicodeDecodeError, IndexError) as error:
        raise ConfigError(f"contract {tool}: must be a tool of AbiToolFactory") from error


def parse_tool_spec(values: Any) -> ToolSpec:  # noqa: ANN401 - what eth_abi decodes
    """Return the data in the values of the Solidity struct: the inverse of `ToolSpec.as_abi`.

    Raises: ConfigError: the data do not fit together.
    """
    name, description, (parameters,), call = values
    account, target, selector, input_types, output_types = call[:5]
    arguments, value, allowances, outputs, minimum_output, must_return_true = call[5:]
    leaves = flatten_types(input_types)
    if len(leaves) != len(arguments):
        raise ConfigError(f"arguments of tool {name}: must be {len(leaves)}, one for each type")
    names = ("", *(argument[0] for argument in arguments))
    descriptions = {parameter: text for _, parameter, text in parameters}
    plain, is_read_only, places = split_marker(description)
    return ToolSpec(
        name=name,
        description=plain,
        account=to_checksum_address(account),
        target=to_checksum_address(target),
        selector=selector,
        input_types=input_types,
        output_types=output_types,
        arguments=tuple(
            _parse_argument(argument, leaf, descriptions.get(argument[0], ""))
            for argument, leaf in zip(arguments, leaves, strict=True)
        ),
        value=CallValue(
            is_chosen=value[0],
            least_wei=value[1],
            most_wei=value[2],
            description=descriptions.get(VALUE_NAME, "") if value[0] else "",
        ),
        allowances=tuple(_parse_allowance(allowance, names) for allowance in allowances),
        outputs=tuple(
            ToolOutput(name=each, symbol=symbol, decimals=decimals, unit_argument=names[place])
            for each, symbol, decimals, place in outputs
        ),
        minimum_output=minimum_output,
        must_return_true=must_return_true,
        is_read_only=is_read_only,
        tokens=places[1:],
    )


def _parse_allowance(values: Sequence[Any], names: Sequence[str]) -> RequiredAllowance:
    kind, token, spender, is_derived, is_measured, amount, amount_place, token_place = values
    return RequiredAllowance(
        kind=_KINDS[kind],
        token=to_checksum_address(token),
        spender=to_checksum_address(spender),
        is_derived=is_derived,
        is_measured=is_measured,
        amount=amount,
        amount_argument=names[amount_place],
        tokens_argument=names[token_place],
    )


def split_marker(description: str) -> tuple[str, bool | None, tuple[str, ...]]:
    """Return a tool's description without the marker, and the facts of the marker.

    Output: the text, whether the tool only reads, and the addresses; the unchanged text, None and
    no addresses where the description has no marker.
    """
    found = CALL_MARKER.search(description)
    if found is None:
        return description, None, ()
    places = tuple(to_checksum_address(each) for each in found["places"].split())
    return description[: found.start()], found["mode"] == "reads", places


def _parse_argument(values: Sequence[Any], abi_type: str, description: str) -> Argument:
    name, number, amount, fixed, (is_bounded, least, most, allowed, forbidden) = values
    source = _SOURCES[number]
    marker = choose_param_type(abi_type)[1]
    is_signed = "uint" not in abi_type
    return Argument(
        name=name,
        abi_type=abi_type,
        source=source,
        description=_strip_marker(description, marker),
        seconds=amount if source is Source.DEADLINE else 0,
        slippage_bps=amount if source is Source.MINIMUM else 0,
        value=_parse_fixed(abi_type, fixed) if source is Source.FIXED else None,
        limits=ArgumentLimits(
            least=_parse_bound(least, is_signed=is_signed) if is_bounded else None,
            most=_parse_bound(most, is_signed=is_signed) if is_bounded else None,
            allowed=tuple(map(to_checksum_address, allowed)),
            forbidden=tuple(map(to_checksum_address, forbidden)),
        ),
    )


def _strip_marker(description: str, marker: str) -> str:
    return description.removesuffix(f"[abi:{marker}]").rstrip(" ") if marker else description


def _parse_bound(word: int, *, is_signed: bool) -> int:
    return word - 2**256 if is_signed and word >= 2**255 else word


def _parse_fixed(abi_type: str, data: bytes) -> object:
    (value,) = decode([abi_type], data)
    return checksum_addresses(parse(abi_type), value)


def checksum_addresses(kind: ABIType, value: Any) -> object:  # noqa: ANN401 - any ABI value
    """Return a decoded value with checksummed addresses."""
    if kind.is_array:
        return tuple(checksum_addresses(kind.item_type, item) for item in value)
    if isinstance(kind, TupleType):
        pairs = zip(kind.components, value, strict=True)
        return tuple(checksum_addresses(part, item) for part, item in pairs)
    if _format_type(kind) == "address":
        address: ChecksumAddress = to_checksum_address(value)
        return address
    return value
