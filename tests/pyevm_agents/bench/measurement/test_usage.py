"""A transaction's use of the executor, from its computations: success, error, out of gas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_typing import Address

from precompiles.abi import ParamDescription, ParamType
from precompiles.errors import REFUSALS
from precompiles.gas import GasSchedule
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.bench.attacks.case import encode_calldata
from pyevm_agents.bench.measurement.tool_contracts import build_answering_code, build_tool_code
from pyevm_agents.bench.measurement.usage import (
    REFUSED_LATE,
    UNCHARGED,
    Usage,
    count_usage,
    iter_executor_calls,
)
from pyevm_agents.bench.pricing.schedules import add_evm_gas
from pyevm_agents.chain import Call
from tests.byte_model import PROFILE
from tests.chain_bench import OWNER
from tests.pyevm_agents.bench.priced_chain import PricedChain

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

TOOL = Address(bytes(19) + b"\xaa")
OTHER = Address(bytes(19) + b"\xbb")
PARAMETERS = [(ParamType.UINT, "amount", "how much"), (ParamType.STRING, "note", "")]
NAME = encode(["string"], ["Tool"])
READ_BYTES = (
    len(NAME)
    + len(encode(["string"], ["Does it"]))
    + len(encode(["((uint8,string,string)[])"], [(PARAMETERS,)]))
)


def usage_of(
    bench: MakeBench, data: bytes, *, codes: dict[Address, bytes] | None = None, **options: int
) -> Usage:
    b = bench([" a\nFinal Answer: b"], codes=codes)
    return count_usage(b.call(EXECUTOR_ADDRESS, data, **options))


def tool(name: str = "Tool") -> bytes:
    parameters = [
        ParamDescription(param_type=kind, name=named, description=described)
        for kind, named, described in PARAMETERS
    ]
    return build_tool_code(name, "Does it", parameters)


def asking(*tools: Address, prompt: str = "") -> bytes:
    return encode_calldata(model_id="bytes", tools=tools, prompt=prompt)


def test_an_answered_call_counts_all_that_it_took_in(bench: MakeBench) -> None:
    data = asking(TOOL)
    usage = usage_of(bench, data, codes={TOOL: tool()})
    assert (usage.calls, usage.tools, usage.parameters) == (1, 1, 2)
    assert usage.input_bytes == len(data) + READ_BYTES
    assert usage.output_tokens == len(" a\nFinal Answer: b")
    assert usage.cold_tokens > 0 == usage.warm_tokens


@pytest.mark.parametrize(
    ("data", "code", "expected"),
    [
        (b"", b"", Usage(calls=1)),
        (b"\x01" * 65_537, b"", Usage()),
        (asking(TOOL), b"", Usage(calls=1, input_bytes=len(asking(TOOL)))),
        (asking(TOOL), b"\xfe", Usage(calls=1, input_bytes=len(asking(TOOL)))),
        (
            asking(TOOL),
            build_answering_code({bytes.fromhex("06fdde03"): NAME}),
            Usage(calls=1, input_bytes=len(asking(TOOL)) + len(NAME)),
        ),
        (
            asking(TOOL),
            build_answering_code({bytes.fromhex("06fdde03"): bytes(16_385)}),
            Usage(calls=1, input_bytes=len(asking(TOOL))),
        ),
        (
            asking(TOOL, OTHER),
            tool(),
            Usage(calls=1, input_bytes=len(asking(TOOL, OTHER)) + 2 * READ_BYTES),
        ),
    ],
    ids=["selector", "size", "no code", "reverts", "malformed", "too large", "same name"],
)
def test_a_refused_call_counts_what_it_was_charged_for(
    bench: MakeBench, data: bytes, code: bytes, expected: Usage
) -> None:
    codes = dict.fromkeys((TOOL, OTHER), code) if code else None
    assert usage_of(bench, data, codes=codes) == expected


def test_a_call_refused_for_its_context_was_charged_for_its_tools(bench: MakeBench) -> None:
    data = asking(TOOL, prompt="\x01" * 40_000)  # Six bytes each, once escaped.
    usage = usage_of(bench, data, codes={TOOL: tool()})
    assert usage == Usage(calls=1, input_bytes=len(data) + READ_BYTES, tools=1, parameters=2)


def test_a_call_that_halts_counts_for_nothing(bench: MakeBench) -> None:
    assert usage_of(bench, asking(), gas=100_000) == Usage()


def test_a_value_is_refused_before_anything_is_charged(bench: MakeBench) -> None:
    assert usage_of(bench, asking(), value_wei=1) == Usage()


def test_calls_of_agents_in_agents_are_counted_once(bench: MakeBench) -> None:
    del bench
    script = (
        ' a\nAction: inner agent\nAction Input: {"prompt": "x"}',
        " b\nFinal Answer: c",
        " d\nFinal Answer: e",
    )
    priced = PricedChain(GasSchedule(), PROFILE, script)
    sent = priced.run()
    calls = list(iter_executor_calls(sent.computation))
    usage = count_usage(sent.computation)
    assert usage.calls == len(calls) == 3
    assert usage.tools == 2 + 1 + 2
    assert usage.output_tokens == sum(map(len, script))
    assert usage.warm_tokens > 0
    whole = add_evm_gas(usage, sent.receipt.gas_used, GasSchedule(), PROFILE)
    assert 21_000 < whole.evm_gas < sent.receipt.gas_used


def test_no_call_is_no_usage(bench: MakeBench) -> None:
    b = bench()
    result = b.chain.call(Call(to=OWNER, sender=OWNER))
    assert count_usage(result.computation) == Usage()


def test_every_named_refusal_is_one() -> None:
    assert set(REFUSALS) >= UNCHARGED | REFUSED_LATE
