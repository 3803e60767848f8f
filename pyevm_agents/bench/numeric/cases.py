"""Cases of the numeric models' precompile: usual calls of many models, and attacks.

Each is a contract that calls the precompile with the same calldata, again and again, and ignores
the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from eth_abi import encode

from precompiles.numeric_abi import (
    DESCRIBE_MODEL_SELECTOR,
    RUN_MODEL_SELECTOR,
    compute_description_size,
    compute_output_size,
)
from precompiles.numeric_executor import compute_run_gas
from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE
from precompiles.numeric_spec import MAX_NUMERIC_CALLDATA_BYTES, NUMERIC_MODELS_ADDRESS
from precompiles.spec import WORD_BYTES
from pyevm_agents.bench.evm.case import BenchTransaction, EvmCase, derive_address
from pyevm_agents.bench.measurement.assembly import assemble, build_loop, format_push
from pyevm_agents.bench.numeric.model_files import MAKERS, MOST_VALUES
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.models.numeric import SHIPPED, NumericFile, open_shipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth_typing import Address

    from precompiles.numeric_model import NumericModelProfile

IGNORED_BYTES = 61_440
"""Bytes after the arguments, which the decoder admits."""

LEVELS = 3
"""Contracts that pass a nested call on."""

NAME_BYTES = MAX_NUMERIC_CALLDATA_BYTES - 3 * WORD_BYTES - 4
"""Bytes of the longest name in calldata: beside it are its offset, its length and a selector."""

MODELS = {
    "sum": "one addition",
    "inputs": "1,024 inputs, added up",
    "outputs": "1,024 outputs of one input",
    "linear": "a linear model, 64 inputs",
    "perceptron": "an MLP, 64 to 256 to 256 to 8",
    "sentiment": "the shipped sentiment, 48 words looked up",
    "forecast": "the shipped forecast, boosted trees",
    "risk": "the shipped risk, a convolution",
    "trees": "256 trees of depth 6, in tables",
    "chain": "96 nodes on 1,024 elements each",
    "convolution": "three 1-D convolutions, 1,024 inputs",
    "product": "16 by 64 times 64 by 8,192, in int8",
    "grid": "a million elements, added and compared",
}
"""Usual models, from few operations to many."""

QUICK_MODELS = (
    "sum",
    "inputs",
    "linear",
    "perceptron",
    "trees",
    "convolution",
    "outputs",
    *SHIPPED,
)

SLOW_MODELS = {
    "nodes": ("1,024 nodes of one element", "Each node negates one number."),
    "small-products": ("1,022 products of one element", "Each multiplies matrices of one element."),
    "small-choices": ("1,023 choices of one element", "Each is a Where."),
    "divisions": ("A million divisions of 51-bit numbers", "Div of two tensors."),
    "transposition": ("A million elements, transposed", "Five axes of 16, in opposite order."),
    "lookups": ("Two million lookups", "Gather of scattered elements, twice."),
    "reductions": ("Half a million maxima of pairs", "ReduceMax along an axis of two."),
    "clips": ("Two million elements, clipped", "Clip at both ends, twice."),
}
"""Models whose operators take longest for an operation, in the measurement of their weights."""

QUICK_SLOW_MODELS = ("nodes", "small-products")
"""Those with the slowest operations, on which an emitted schedule depends."""

QUICK_ATTACKS = ("small-calls", "too-large", "no-gas", "long-name", "out-of-range")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericCase:
    """A call of the precompile that a contract repeats."""

    name: str
    title: str
    data: bytes
    how: str = ""
    is_attack: bool = False
    call: str = "STATICCALL"
    """The opcode."""

    gas: int | None = None
    """Gas of each call; None for all that is left."""

    value_wei: int = 0
    output_bytes: int = 0
    """Bytes of the output that the contract keeps."""

    levels: int = 0
    """Contracts that pass the call on."""

    @property
    def is_quick(self) -> bool:
        """Whether a quick run includes the case."""
        return self.name in {*QUICK_MODELS, *QUICK_SLOW_MODELS, *QUICK_ATTACKS, "describe"}

    def build(self) -> EvmCase:
        """Return the contract that repeats the call, and the transaction."""
        address, codes = derive_address(self.name), {}
        call = self._format_call(NUMERIC_MODELS_ADDRESS)
        if self.levels:
            # The innermost contract has the data; the others only call the next one.
            places = [derive_address(f"{self.name} {level}") for level in range(self.levels)]
            for here, after in pairwise(places):
                codes[here] = assemble(f"{_format_empty_call(after)} STOP")
            codes[places[-1]] = _build_forwarder(call, self.data)
            codes[address] = build_loop(_format_empty_call(places[0]))
        else:
            codes[address] = build_loop(call, data=self.data)

        def build_transactions(times: int) -> tuple[BenchTransaction, ...]:
            data = times.to_bytes(WORD_BYTES, "big")
            return (BenchTransaction(to=address, data=data, value_wei=self.value_wei),)

        return EvmCase(
            name=self.name,
            title=self.title,
            build_transactions=build_transactions,
            times=1,
            codes=codes,
            is_whole=True,
        )

    def _format_call(self, to: Address) -> str:
        place = -(-len(self.data) // WORD_BYTES) * WORD_BYTES
        value = format_push(self.value_wei) if self.call == "CALL" else ""
        gas = "GAS" if self.gas is None else format_push(self.gas)
        return (
            f"{format_push(self.output_bytes)} {format_push(place)} {format_push(len(self.data))} "
            f"PUSH0 {value} 0x{to.hex()} {gas} {self.call} POP"
        )


def _format_empty_call(to: Address) -> str:
    return f"PUSH0 PUSH0 PUSH0 PUSH0 0x{to.hex()} GAS STATICCALL POP"


def _build_forwarder(call: str, data: bytes) -> bytes:
    """Return a contract that makes one call with data from its own code."""

    def assemble_with_data_at(place: int) -> bytes:
        copy = f"0x{len(data):06x} 0x{place:06x} PUSH0 CODECOPY"
        return assemble(f"{copy} {call} STOP")

    return assemble_with_data_at(len(assemble_with_data_at(0))) + data


def open_models(names: set[str]) -> dict[str, NumericFile]:
    """Make the named models, and open those that the package ships."""
    made = {name: NumericFile(make()) for name, make in MAKERS.items() if name in names}
    return made | {name: open_shipped(name) for name in SHIPPED if name in names}


def encode_run(model_id: str, values: list[int]) -> bytes:
    """Return calldata of `runModel`."""
    return RUN_MODEL_SELECTOR + encode(["string", "int256[]"], [model_id, values])


def encode_description_call(model_id: str) -> bytes:
    """Return calldata of `describeModel`."""
    return DESCRIBE_MODEL_SELECTOR + encode(["string"], [model_id])


def make_cases(models: Mapping[str, NumericFile]) -> list[NumericCase]:
    """Return the cases of these models, the usual calls first."""
    profiles = {profile.name: profile for profile in build_numeric_profiles(models)}
    usual = [_make_run(name, title, models) for name, title in MODELS.items() if name in models]
    return [*usual, *_iter_other_calls(models), *_iter_attacks(models, profiles)]


def _make_run(
    name: str, title: str, models: Mapping[str, NumericFile], how: str = "", *, slow: bool = False
) -> NumericCase:
    model = models[name]
    return NumericCase(
        name=name,
        title=title,
        how=how,
        is_attack=slow,
        data=encode_run(name, [(least + most) // 2 for least, most in model.input_ranges]),
        output_bytes=compute_output_size(len(model.output_decimals)),
    )


def _iter_other_calls(models: Mapping[str, NumericFile]) -> Iterator[NumericCase]:
    """Yield calls that show the price of a call and of a byte, apart from any evaluation."""
    yield NumericCase(
        name="describe",
        title="the description of a small model",
        data=encode_description_call("sum"),
        output_bytes=compute_description_size(1, 1),
    )
    if "largest" in models:
        yield NumericCase(
            name="describe-largest",
            title="the description of 1,024 inputs and outputs",
            data=encode_description_call("largest"),
            output_bytes=compute_description_size(MOST_VALUES, MOST_VALUES),
        )


def _iter_attacks(
    models: Mapping[str, NumericFile], profiles: Mapping[str, NumericModelProfile]
) -> Iterator[NumericCase]:
    yield from _iter_refused_calls()
    yield from _iter_unpaid_calls()
    many = models["inputs"]
    least, most = many.input_ranges[-1]
    yield NumericCase(
        name="out-of-range",
        title="1,024 inputs, the last out of its range",
        how="The range of each is checked after the charge for the evaluation, which is not made.",
        is_attack=True,
        data=encode_run("inputs", [least] * (MOST_VALUES - 1) + [most + 1]),
    )
    yield NumericCase(
        name="ignored-calldata",
        title="60 KiB after the arguments of one addition",
        how="They are copied for the call, and not read.",
        is_attack=True,
        data=encode_run("sum", [1]) + b"\x01" * IGNORED_BYTES,
    )
    data = encode_run("inputs", [least] * MOST_VALUES)
    yield NumericCase(
        name="short-of-gas",
        title="1,024 inputs, one gas short of the evaluation",
        how="The calldata is decoded; all gas of the call is burnt.",
        is_attack=True,
        data=data,
        gas=compute_run_gas(DEFAULT_NUMERIC_SCHEDULE, profiles["inputs"], "inputs") - 1,
    )
    yield NumericCase(
        name="nested",
        title="A small call inside of static calls",
        how=f"Each turn passes {LEVELS} contracts, of which the last calls a model of one "
        "addition.",
        is_attack=True,
        data=encode_run("sum", [1]),
        levels=LEVELS,
    )
    if "largest" in models:
        yield NumericCase(
            name="dropped-description",
            title="The longest description, dropped",
            how="66 KiB are encoded, and the contract keeps none of them.",
            is_attack=True,
            data=encode_description_call("largest"),
        )
    for name, (title, how) in SLOW_MODELS.items():
        if name in models:
            yield _make_run(name, title, models, how, slow=True)


def _iter_refused_calls() -> Iterator[NumericCase]:
    """Yield calls that are refused after the charge for their calldata."""
    yield NumericCase(
        name="small-calls",
        title="Calls without calldata",
        how="The base price alone is paid; no function is named.",
        is_attack=True,
        data=b"",
    )
    yield NumericCase(
        name="long-name",
        title="A model with a name of 64 KiB",
        how="The name, of characters of four bytes, is decoded, and encoded into the refusal.",
        is_attack=True,
        data=encode_description_call("\N{GRINNING FACE}" * (NAME_BYTES // 4)),
    )
    count = (MAX_NUMERIC_CALLDATA_BYTES - len(encode_run("sum", []))) // WORD_BYTES
    yield NumericCase(
        name="too-many-inputs",
        title="64 KiB of inputs for a model of one",
        how="The array is cut out of the calldata, then counted.",
        is_attack=True,
        data=encode_run("sum", [2**255 - 1] * count),
    )


def _iter_unpaid_calls() -> Iterator[NumericCase]:
    """Yield calls that end before any charge: their gas is that of the CALL alone."""
    yield NumericCase(
        name="too-large",
        title="Calldata one byte too large",
        how="It is copied for the call, as for any account, and refused before any charge.",
        is_attack=True,
        data=b"\x01" * (MAX_NUMERIC_CALLDATA_BYTES + 1),
    )
    yield NumericCase(
        name="no-gas",
        title="64 KiB of calldata without gas",
        how="The calldata is measured; there is no gas for it.",
        is_attack=True,
        data=b"\x01" * MAX_NUMERIC_CALLDATA_BYTES,
        gas=0,
    )
    yield NumericCase(
        name="delegated",
        title="Delegate calls",
        how="Refused before any charge.",
        is_attack=True,
        data=b"",
        call="DELEGATECALL",
    )
    yield NumericCase(
        name="value",
        title="Calls with a value",
        how="Refused before any charge; a CALL with a value costs 9,000 gas.",
        is_attack=True,
        data=b"",
        call="CALL",
        value_wei=1,
    )
