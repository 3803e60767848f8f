"""Random values of every parameter of every function of real contracts, as the model gives them.

A value is written as the action input of the function's tool, with handles for addresses, and
parsed by the precompile. Each parameter is encoded alone, and all of a function together as whole
calldata. On the chain, a value is a typed text. eth_abi encodes the value itself: the bytes must be
equal, and decode to the value.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing import get_context
from typing import TYPE_CHECKING

from eth_abi import decode, encode
from eth_utils import (
    function_signature_to_4byte_selector,
    to_canonical_address,
    to_checksum_address,
)
from eth_utils.abi import get_abi_input_types

from benchmarks.contract_adapters import read_functions
from benchmarks.contract_values import draw_value, read_value, write_text
from benchmarks.contract_world import REAL_CONTRACTS, load_real_artifact
from precompiles.abi import ParamDescription, ParamType, ToolUse
from precompiles.abi_types import AbiType, Kind, parse_type
from precompiles.address_handles import AddressBook
from precompiles.react import GrammarViolationError, parse
from precompiles.spec import SELECTOR_BYTES
from precompiles.tool_metadata import Tool
from precompiles.typed_texts import TypedTextError, attach_types
from pyevm_agents.contract_intelligence.tool_builder import ToolOptions, build_tool_spec
from pyevm_agents.contract_intelligence.tool_spec import CallValue
from pyevm_agents.scenarios.swap.world import UNISWAP_CONTRACTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.contract_adapters import TextEncoder
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability

ENCODED_CONTRACTS = (*REAL_CONTRACTS, *UNISWAP_CONTRACTS)

CALLS_SHARE = 0.1
"""Whole calls of a function, of the values of each of its parameters."""

SOME_ADDRESS, OTHER_ADDRESS = "0x" + "11" * 20, "0x" + "22" * 20
"""Of the tools and their account: no call is made."""

ADDRESSES = 32
"""Addresses of the values of a parameter: the precompile names at most 64."""

SHOWN_FAILURES = 3
SHOWN_CHARACTERS = 200
"""Characters of a failure's text. A text has up to some 100,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingCount:
    """What the values of a type came to."""

    abi_type: str
    parameters: int
    """Parameters that have the type."""

    values: int
    equal: int
    failures: tuple[str, ...] = field(default=())
    """The first of them, with their texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCount:
    """What the values of a function's parameters came to."""

    contract: str
    signature: str
    parameters: int
    values: int
    """Of all parameters, each alone."""

    equal: int
    calls: int
    """Whole calldata, with a value for each parameter."""

    calls_equal: int
    failures: tuple[str, ...] = ()
    """The first of them: the parameter, or `call`, and the text."""


def collect_types() -> Mapping[str, int]:
    """Return the types of the parameters of all functions of the real contracts, with counts."""
    return Counter(
        abi_type
        for name in ENCODED_CONTRACTS
        for element in load_real_artifact(name).abi
        if element["type"] == "function"
        for abi_type in get_abi_input_types(element)
    )


# -- by function, as a tool's arguments -- #


def list_functions(contracts: Sequence[str] = ENCODED_CONTRACTS) -> list[tuple[str, int]]:
    """Return the functions of contracts: the contract's name, and the place in its interface."""
    return [(name, place) for name in contracts for place in range(len(_read_functions(name)))]


def count_functions(
    functions: Sequence[tuple[str, int]], count: int, seed: int = 0, *, jobs: int = 1
) -> Iterator[FunctionCount]:
    """Encode random values of each parameter of functions as a tool's arguments, in order.

    Input:  functions: as `list_functions` returns them; count: values of each parameter; jobs:
            processes. The result does not depend on them.
    """
    jobs_of = [(*function, count, seed) for function in functions]
    if jobs == 1:
        yield from map(count_function, jobs_of)
        return
    # The heartbeat has a thread, so no fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(count_function, jobs_of)


def count_function(job: tuple[str, int, int, int]) -> FunctionCount:
    """Encode random values of each parameter of a function, and calls of all of them together.

    Input:  the contract's name, the function's place, values of each parameter, the seed.
    """
    contract, place, count, seed = job
    function = _read_functions(contract)[place]
    failures: list[str] = []
    total = equal = 0
    for index, parameter in enumerate(function.parameters):
        alone = replace(function, parameters=(parameter,))
        chance = random.Random(  # noqa: S311 - by its seed
            f"{seed} {contract} {function.signature} {index}"
        )
        wrong = [*_find_wrong_calls(alone, count, chance)]
        total, equal = total + count, equal + count - len(wrong)
        failures += [f"{parameter.name}: {text}" for text in wrong[:SHOWN_FAILURES]]
    calls = max(1, round(count * CALLS_SHARE))
    chance = random.Random(f"{seed} {contract} {function.signature}")  # noqa: S311 - as above
    wrong = [*_find_wrong_calls(function, calls, chance)]
    failures += [f"call: {text}" for text in wrong[:SHOWN_FAILURES]]
    return FunctionCount(
        contract=contract,
        signature=function.signature,
        parameters=len(function.parameters),
        values=total,
        equal=equal,
        calls=calls,
        calls_equal=calls - len(wrong),
        failures=tuple(failures),
    )


@cache
def _read_functions(contract: str) -> tuple[FunctionCapability, ...]:
    return read_functions(load_real_artifact(contract))


def _find_wrong_calls(
    function: FunctionCapability, count: int, chance: random.Random
) -> Iterator[str]:
    """Yield the texts of random values that are not encoded right as calldata of a function."""
    encoder = CallEncoder(function)
    addresses = [to_checksum_address(chance.randbytes(20)) for _ in range(ADDRESSES)]
    book = AddressBook("", addresses)
    for _ in range(count):
        values = tuple(draw_value(of, chance, addresses) for of in encoder.types)
        if not encoder.is_encoded(values, book):
            pairs = zip(encoder.types, values, strict=True)
            yield ", ".join(write_text(*pair) for pair in pairs)[:SHOWN_CHARACTERS]


class CallEncoder:
    """Encodes calls of a function as its tool does: from the action input of a model."""

    def __init__(self, function: FunctionCapability) -> None:
        """Build the tool of a function, whose arguments are all the model's choice.

        Raises: ValueError: a parameter's type is none of typed texts. ConfigError: no tool.
        """
        self._selector = function.selector
        self._true_selector = function_signature_to_4byte_selector(function.signature)
        self._names = [each.abi_type for each in function.parameters]
        self.types = tuple(map(_parse, self._names))
        self._leaves = [leaf for of in self.types for leaf in _list_leaves(of)]
        spec = build_tool_spec(
            function,
            target=SOME_ADDRESS,
            account=OTHER_ADDRESS,
            options=ToolOptions(value=CallValue()),
        )
        described = [
            ParamDescription(param_type=kind, name=name, description=text)
            for kind, name, text in spec.model_parameters
        ]
        self._tool = Tool(
            address=to_canonical_address(SOME_ADDRESS),
            name=spec.name,
            description=spec.description,
            parameters=attach_types(described),
        )

    def is_encoded(self, values: Sequence[object], book: AddressBook) -> bool:
        """Return whether a tool use of values has their encoding, and decodes to them."""
        data = self.encode_tool_use(values, book)
        if data != self._true_selector + encode(self._names, values):
            return False
        return _canonical(decode(self._names, data[SELECTOR_BYTES:])) == _canonical(values)

    def encode_tool_use(self, values: Sequence[object], book: AddressBook) -> bytes:
        """Return the calldata that the precompile reads from an action input; empty if none."""
        flat = [
            leaf for of, value in zip(self.types, values, strict=True) for leaf in _split(of, value)
        ]
        given = {
            parameter.name: _write_argument(parameter, leaf, value, book)
            for parameter, leaf, value in zip(
                self._tool.parameters, self._leaves, flat, strict=True
            )
        }
        arguments = json.dumps(given, ensure_ascii=False)
        text = f" I call it.\nAction: {self._tool.name}\nAction Input: {arguments}"
        try:
            use = parse(text, [self._tool], book)
            if not isinstance(use, ToolUse):
                return b""
            pairs = zip(self._tool.parameters, use.values, strict=True)
            said = iter([_read_argument(parameter, value) for parameter, value in pairs])
        except (GrammarViolationError, TypedTextError):
            return b""
        return self._selector + encode(self._names, [_join(of, said) for of in self.types])


def _parse(abi_type: str) -> AbiType:
    of = parse_type(abi_type)
    if of is None:
        raise ValueError(f"{abi_type}: not a type of typed texts")
    return of


def _list_leaves(of: AbiType) -> list[AbiType]:
    """Return the parts that are arguments of their own: members of tuples outside of arrays."""
    if of.kind is not Kind.TUPLE:
        return [of]
    return [leaf for part in of.parts for leaf in _list_leaves(part)]


def _split(of: AbiType, value: object) -> list[object]:
    """Return the values of a value's leaves."""
    if of.kind is not Kind.TUPLE or not isinstance(value, tuple):
        return [value]
    return [
        leaf for part, member in zip(of.parts, value, strict=True) for leaf in _split(part, member)
    ]


def _join(of: AbiType, leaves: Iterator[object]) -> object:
    """Return the value of leaves: the inverse of `_split`."""
    if of.kind is not Kind.TUPLE:
        return next(leaves)
    return tuple(_join(part, leaves) for part in of.parts)


def _write_argument(
    parameter: ParamDescription, leaf: AbiType, value: object, book: AddressBook
) -> object:
    """Return an argument as the JSON of an action input has it."""
    item = parameter.text_type
    if item is None:
        return _use_handles(value, book)
    if isinstance(value, tuple) and parameter.param_type is ParamType.STRING_ARRAY:
        return [book.intern(write_text(item, one)) for one in value]
    return book.intern(write_text(leaf, value))


def _use_handles(value: object, book: AddressBook) -> object:
    """Return a value of an ERC type as JSON has it, with handles in place of addresses."""
    match value:
        case tuple():
            return [_use_handles(item, book) for item in value]
        case str():
            return book.intern(value)
        case bytes():
            return value.hex()
        case _:
            return value


def _read_argument(parameter: ParamDescription, value: object) -> object:
    """Return the value of an argument that the precompile parsed.

    Raises: TypedTextError: a text does not have the form of its type.
    """
    item = parameter.text_type
    if item is None:
        return value
    if isinstance(value, list):
        return [read_value(item, str(text)) for text in value]
    return read_value(item, str(value))


# -- by type, as typed texts -- #


def count_text_encodings(
    encode_texts: TextEncoder, count: int, seed: int = 0
) -> Iterator[EncodingCount]:
    """Encode random values of each type as typed texts, with whole addresses.

    Input:  encode_texts: such as `AbiText.encode` on the chain; count: values of each type.
    """
    for abi_type, parameters in sorted(collect_types().items()):
        of = _parse(abi_type)
        chance = random.Random(f"{seed} {abi_type}")  # noqa: S311 - by its seed
        addresses = [to_checksum_address(chance.randbytes(20)) for _ in range(ADDRESSES)]
        values = [draw_value(of, chance, addresses) for _ in range(count)]
        texts = [write_text(of, value) for value in values]
        found = zip(texts, values, encode_texts(abi_type, texts), strict=True)
        failures = [text for text, value, data in found if not _is_equal(abi_type, value, data)]
        yield EncodingCount(
            abi_type=abi_type,
            parameters=parameters,
            values=count,
            equal=count - len(failures),
            failures=tuple(text[:SHOWN_CHARACTERS] for text in failures[:SHOWN_FAILURES]),
        )


def _is_equal(abi_type: str, value: object, data: bytes) -> bool:
    """Return whether data are a value's encoding, and decode to it."""
    if data != encode([abi_type], [value]):
        return False
    return _canonical(decode([abi_type], data)) == _canonical((value,))


def _canonical(value: object) -> object:
    match value:
        case tuple() | list():
            return tuple(map(_canonical, value))
        case str() if len(value) == len("0x") + 40 and value.startswith("0x"):
            return to_canonical_address(value)
        case _:
            return value
