"""The default prices, restated by hand, and the gas of calls under these and others."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict, replace
from typing import TYPE_CHECKING

import pytest
from eth.exceptions import OutOfGas
from eth_utils import keccak

from precompiles.gas import DEFAULT_SCHEDULE, GasSchedule
from tests.byte_model import PROFILE
from tests.precompiles.test_executor import (
    ANSWER,
    CALL,
    EXECUTOR,
    answer_of,
    assert_refused,
    error,
    forward,
    request,
)
from tests.precompiles.test_tool_metadata import BURN_GAS, NAME, bad_tool, with_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import ComputationAPI

    from precompiles.language_model import ModelProfile
    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

DEFAULT = {
    "executor_base_gas": 3_000,
    "input_byte_gas": 16,
    "metadata_read_gas": 2_000_000,
    "tool_gas": 5_000,
    "parameter_gas": 2_000,
    "scan_gas": 250,
}
OTHER = GasSchedule(
    executor_base_gas=7,
    input_byte_gas=11,
    metadata_read_gas=13,
    tool_gas=17,
    parameter_gas=19,
    scan_gas=31,
)


def test_every_default_price_is_as_specified() -> None:
    assert asdict(GasSchedule()) == asdict(DEFAULT_SCHEDULE) == DEFAULT


def test_a_schedule_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULT_SCHEDULE.tool_gas = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("schedule", "size_bytes", "gas"),
    [
        (DEFAULT_SCHEDULE, 0, 3_000),
        (DEFAULT_SCHEDULE, 1, 3_016),
        (DEFAULT_SCHEDULE, 4, 3_064),
        (DEFAULT_SCHEDULE, 65_536, 1_051_576),
        (OTHER, 0, 7),
        (OTHER, 4, 51),
    ],
)
def test_gas_of_calldata(schedule: GasSchedule, size_bytes: int, gas: int) -> None:
    assert schedule.calldata_gas(size_bytes) == gas


@pytest.mark.parametrize(
    ("schedule", "size_bytes", "gas"),
    [
        (DEFAULT_SCHEDULE, 0, 0),
        (DEFAULT_SCHEDULE, 96, 1_536),
        (OTHER, 96, 1_056),
    ],
)
def test_gas_of_metadata(schedule: GasSchedule, size_bytes: int, gas: int) -> None:
    assert schedule.metadata_gas(size_bytes) == gas


@pytest.mark.parametrize(
    ("schedule", "tools", "parameters", "gas"),
    [
        (DEFAULT_SCHEDULE, 0, 0, 0),
        (DEFAULT_SCHEDULE, 1, 0, 5_000),
        (DEFAULT_SCHEDULE, 1, 2, 9_000),
        (DEFAULT_SCHEDULE, 64, 2_048, 4_416_000),
        (OTHER, 3, 5, 146),
    ],
)
def test_gas_of_tools(schedule: GasSchedule, tools: int, parameters: int, gas: int) -> None:
    assert schedule.grammar_gas(tools, parameters) == gas


@pytest.mark.parametrize(
    ("schedule", "characters", "pairs", "gas"),
    [
        (DEFAULT_SCHEDULE, 0, 0, 0),
        (DEFAULT_SCHEDULE, 1, 0, 250),
        (DEFAULT_SCHEDULE, 2_048, 3, 518_000),
        (OTHER, 5, 2, 193),
    ],
)
def test_gas_of_a_plan(schedule: GasSchedule, characters: int, pairs: int, gas: int) -> None:
    assert schedule.reading_gas(characters) + schedule.branch_gas(pairs) == gas


# -- on a chain -- #

CHEAP = replace(PROFILE, cold_prompt_token_gas=23, warm_prompt_token_gas=3, output_token_gas=29)
AMPLE = replace(OTHER, metadata_read_gas=1_000_000)
"""The same, under which tools can be read."""

TOOL_METADATA_FAILED = keccak(text="ToolMetadataFailed(address,bytes4,bytes)")[:4]
TWO_PARAMETERS = ((0, "to", "Whom"), (0, "why", "Why"))


def ask(
    make: MakeBench, schedule: GasSchedule = AMPLE, profile: ModelProfile = CHEAP
) -> tuple[ComputationAPI, Bench, bytes]:
    """Call with two tools that have three parameters in all."""
    b = make([ANSWER], schedule=schedule, profile=profile)
    data = request(tools=[b.deploy("CounterTool"), with_parameters(b, *TWO_PARAMETERS)])
    computation = b.call(EXECUTOR, data)
    assert answer_of(computation) == "done"
    return computation, b, data


def test_a_call_costs_what_the_chains_schedule_says(bench: MakeBench) -> None:
    computation, b, data = ask(bench)
    assert len(computation.children) == 6  # Name, description and parameters of two tools.
    read_gas = sum(read.get_gas_used() for read in computation.children)
    read_bytes = sum(len(read.output) for read in computation.children)
    assert computation.get_gas_used() == (
        7 + 11 * len(data)
        + 2 * (2_600 + 100 + 100) + read_gas + 11 * read_bytes
        + 17 * 2 + 19 * 3
        + 23 * len(b.model.requests[0].prompt_tokens)
        + 29 * len(ANSWER)
    )  # fmt: skip


@pytest.mark.parametrize(
    "price", ["executor_base_gas", "input_byte_gas", "tool_gas", "parameter_gas"]
)
def test_each_price_is_paid_for_what_it_is_of(bench: MakeBench, price: str) -> None:
    before, _, data = ask(bench)
    after, _, _ = ask(bench, replace(AMPLE, **{price: getattr(AMPLE, price) + 1_000}))
    read_bytes = sum(len(read.output) for read in before.children)
    times = {
        "executor_base_gas": 1,
        "input_byte_gas": len(data) + read_bytes,
        "tool_gas": 2,
        "parameter_gas": 3,
    }
    assert after.get_gas_used() - before.get_gas_used() == 1_000 * times[price]


def test_a_read_may_burn_what_the_schedule_grants_and_no_more(bench: MakeBench) -> None:
    computation, _, _ = ask(bench)
    needed = max(read.get_gas_used() for read in computation.children)
    enough, b, data = ask(bench, replace(AMPLE, metadata_read_gas=needed))
    assert enough.get_gas_used() == computation.get_gas_used()
    assert {read.msg.gas for read in enough.children} == {needed}
    b = bench([ANSWER], schedule=replace(AMPLE, metadata_read_gas=needed - 1))
    tools = b.deploy("CounterTool"), with_parameters(b, *TWO_PARAMETERS)
    assert request(tools=tools) == data
    short = b.call(EXECUTOR, data)
    assert_refused(short, short.output)
    assert short.output.startswith(TOOL_METADATA_FAILED)


def test_a_read_that_fails_with_all_that_is_granted_is_the_tools_fault(bench: MakeBench) -> None:
    b = bench(schedule=replace(OTHER, metadata_read_gas=63_000))
    tool = bad_tool(b, NAME, BURN_GAS)
    data = request(tools=[tool])
    # All but a 64th of what is left after calldata and the cold account must be 63,000.
    enough = 7 + 11 * len(data) + 2_600 + 63_999
    refused = forward(b, CALL, data, gas=enough)
    assert_refused(refused, error("ToolMetadataFailed(address,bytes4,bytes)", tool, NAME, b""))
    halted = forward(b, CALL, data, gas=enough - 1)
    assert isinstance(halted.error, OutOfGas)
    assert "Executor metadata read: 62999 gas was not enough" in str(halted.error)


def test_gas_ends_in_each_phase_at_the_exact_unit(bench: MakeBench) -> None:
    data = request()
    b = bench(lambda _: ANSWER, schedule=OTHER, profile=CHEAP)
    b.call(EXECUTOR, data)
    calldata_gas = 7 + 11 * len(data)
    prompt_gas = calldata_gas + 23 * len(b.model.requests[0].prompt_tokens)
    output_gas = prompt_gas + 29 * len(ANSWER)
    for gas, reason in [
        (calldata_gas - 1, "Executor calldata"),
        (calldata_gas, "Executor prompt tokens"),
        (prompt_gas + 28, "Executor output tokens: not one is paid for"),
        (output_gas - 1, f"Executor output tokens: {len(ANSWER) - 1} were not enough"),
    ]:
        child = forward(b, CALL, data, gas=gas)
        assert isinstance(child.error, OutOfGas), gas
        assert reason in str(child.error)
    child = forward(b, CALL, data, gas=output_gas)
    assert answer_of(child) == "done"
    assert child.get_gas_remaining() == 0


def test_the_dearest_prices_end_the_gas(bench: MakeBench) -> None:
    dear = GasSchedule(**dict.fromkeys(DEFAULT, 2**63 - 1))
    computation = bench([ANSWER], schedule=dear).call(EXECUTOR, request())
    assert isinstance(computation.error, OutOfGas)
    assert "Executor calldata" in str(computation.error)


# -- typed texts -- #


@pytest.mark.parametrize(
    ("kind", "marker", "leaves"),
    [
        (0, "bytes32", 1),
        (0, "uint8[64]", 1),
        (0, "(address,uint24)[]", 2),
        (0, f"({','.join(['bool'] * 32)})", 32),
        (0, f"({','.join(['bool'] * 33)})", 1),
        (0, "(address,(bool,bytes[])[2],string)", 4),
        (5, "(bool,bool)", 2),
        (4, "uint8", 1),
        (4, "(uint8,uint8)", 1),
        (1, "(address,address)", 1),
    ],
)
def test_each_leaf_of_a_marker_costs_as_much_as_a_parameter(
    bench: MakeBench, kind: int, marker: str, leaves: int
) -> None:
    used = []
    # Of one length, so that bytes and tokens cost the same.
    for description in (f"x [abi:{marker}]", f"x [abi:{marker})"):
        b = bench([ANSWER])
        data = request(tools=[with_parameters(b, (kind, "p", description))])
        computation = b.call(EXECUTOR, data)
        assert answer_of(computation) == "done"
        used.append(computation.get_gas_used())
    assert used[0] - used[1] == 2_000 * (leaves - 1)


def test_leaves_are_paid_for_before_the_prompt_at_the_exact_unit(bench: MakeBench) -> None:
    b = bench(lambda _: ANSWER)
    data = request(tools=[with_parameters(b, (0, "p", "x [abi:(bool,bool,bool)]"))])
    whole = b.call(EXECUTOR, data)
    assert answer_of(whole) == "done"
    prompt_gas = 6_000 * len(b.model.requests[0].prompt_tokens)
    before_prompt = whole.get_gas_used() - prompt_gas - 10_000 * len(ANSWER)
    for gas, reason in (
        (before_prompt - 2 * 2_000, "Executor tools"),
        (before_prompt - 1, "Executor tools"),
        (before_prompt, "Executor prompt tokens"),
    ):
        child = forward(b, CALL, data, gas=gas)
        assert isinstance(child.error, OutOfGas)
        assert reason in str(child.error)
