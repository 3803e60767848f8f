"""Rows of agent traces: written by every chain with models, and read strictly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import rlp
from eth_typing import Address
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.language_model import Confidence, Margin
from pyevm_agents.agents.failures import Failure, RevertContext
from pyevm_agents.agents.trace import (
    AgentTrace,
    InferenceUsage,
    StepDecision,
    TracedStep,
    trace_agents,
)
from pyevm_agents.chain.database import trace_key
from pyevm_agents.chain.trace_codec import VERSION, decode_trace, encode_trace
from pyevm_agents.errors import EngineFault
from tests.test_agents import Wallet, answer, instruct, use

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

texts = st.text(st.characters(codec=None), max_size=40)  # Halves of surrogate pairs, too.
numbers = st.integers(0, 2**64)
floats = st.floats(allow_nan=False)
usages = st.builds(
    InferenceUsage,
    cold_tokens=numbers,
    warm_tokens=numbers,
    output_tokens=numbers,
    forced_tokens=numbers,
    prompt_gas=numbers,
    output_gas=numbers,
)
failures = st.builds(
    Failure,
    halt=st.none() | texts,
    data=st.binary(max_size=40),
    context=st.builds(
        RevertContext,
        starved=st.none() | texts,
        starved_code=st.just(b""),
        models=st.lists(texts, max_size=2).map(tuple),
        codes=st.just(()),
    ),
)
steps = st.builds(
    TracedStep,
    agent=st.binary(min_size=20, max_size=20).map(Address),
    depth=st.integers(0, 3),
    model=texts,
    prompt=st.sampled_from(["", "a", "ab", "abc", "b"]) | texts,
    decision=st.builds(
        StepDecision,
        thought=texts,
        action=st.none() | texts,
        action_input=st.none() | texts,
        answer=st.none() | texts,
    ),
    observation=st.none() | texts,
    usage=usages,
    margin=st.none()
    | st.builds(Margin, gap=floats, token_index=numbers, chosen=texts, other=texts),
    seconds=st.none() | floats,
    handles=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    tool=st.none() | st.binary(min_size=20, max_size=20).map(Address),
    tool_failure=st.none() | failures,
    is_cached=st.booleans(),
)
traces = st.builds(
    AgentTrace,
    failure=st.none() | failures,
    gas_used=numbers,
    usage=usages,
    steps=st.lists(steps, max_size=5).map(tuple),
)

USAGE = InferenceUsage(
    cold_tokens=1,
    warm_tokens=0,
    output_tokens=2,
    forced_tokens=1,
    prompt_gas=300,
    output_gas=2_000,
)


def step(prompt: str, depth: int = 0) -> TracedStep:
    return TracedStep(
        agent=Address(b"\x11" * 20),
        depth=depth,
        model="m",
        prompt=prompt,
        decision=StepDecision(thought="", answer="Ten."),
        observation=None,
        usage=USAGE,
        margin=None,
        seconds=0.5,
    )


def trace(*steps: TracedStep) -> AgentTrace:
    return AgentTrace(failure=None, gas_used=21_000, usage=USAGE, steps=steps)


@given(trace=traces)
def test_a_trace_is_read_as_it_was_written(trace: AgentTrace) -> None:
    assert decode_trace(encode_trace(trace)) == trace


@settings(max_examples=100)
@given(trace=traces, data=st.data())
def test_a_damaged_row_is_refused_or_is_the_row_of_another_trace(
    trace: AgentTrace, data: st.DataObject
) -> None:
    row = bytearray(encode_trace(trace))
    start = data.draw(st.integers(1, len(row) - 1))
    end = data.draw(st.integers(start, len(row)))
    row[start:end] = data.draw(st.binary(max_size=4))
    try:
        found = decode_trace(bytes(row))
    except EngineFault as error:
        assert "agent trace is damaged" in str(error)  # noqa: PT017 - either is right
    else:
        assert found is not None
        assert encode_trace(found) == bytes(row)


def test_the_encoding_of_version_4_stays_as_it_is() -> None:
    row = encode_trace(trace(step("ab"), step("abc")))
    usage = [b"\x01", b"", b"\x02", b"\x01", b"\x01\x2c", b"\x07\xd0"]
    rest = [b"", [], [], [b"Ten."], [], usage, [], [bytes.fromhex("3fe0000000000000")]]
    rest += [[], [], [], b"", []]
    first = [b"\x11" * 20, b"", b"m", b"\x01", b"ab", *rest]
    second = [b"\x11" * 20, b"", b"m", b"\x01", b"c", *rest]
    assert row == b"\x04" + rlp.encode([[], b"\x52\x08", usage, [first, second]])


@pytest.mark.parametrize("surprisal", [0, 70_000])
def test_a_confidence_is_stored(surprisal: int) -> None:
    sure = trace(replace(step("ab"), confidence=Confidence(surprisal=surprisal)))
    assert decode_trace(encode_trace(sure)) == sure


def test_a_prompt_that_is_not_continued_as_far_as_it_could_be_is_refused() -> None:
    row = encode_trace(trace(step("ab")))
    (failure, gas_used, usage, [fields]) = rlp.decode(row[1:])
    whole = [*fields[:3], b"", *fields[4:]]
    with pytest.raises(EngineFault, match="not in canonical form"):
        decode_trace(VERSION + rlp.encode([failure, gas_used, usage, [whole]]))


def test_prompts_are_written_once_whatever_other_agents_do_between_them() -> None:
    long = "x" * 10_000
    nested = trace(step(long), step("inner", depth=1), step(long + "y"), step("other", depth=1))
    row = encode_trace(nested)
    assert len(row) < len(long) + 500
    assert decode_trace(row) == nested


def test_a_list_in_the_place_of_a_number_is_damage() -> None:
    row = bytes.fromhex("04d3c0840cfd2e83cb6180c1c0845301ab018005c0")
    with pytest.raises(EngineFault, match="agent trace is damaged"):
        decode_trace(row)


@pytest.mark.parametrize("row", [b"", b"\x01\xc0", b'{"steps": []}'])
def test_a_row_of_another_version_is_none(row: bytes) -> None:
    assert decode_trace(row) is None


def test_a_chain_stores_the_traces_of_its_blocks(bench: MakeBench) -> None:
    b = bench([use("ViewBalanceTool", asset="USDC"), answer("Ten.")])
    agent = Wallet(b).agent
    before = b.chain.snapshot()
    _, computation = b.send(agent, instruct("How much?"))
    record = b.chain.block_with_receipts(b.chain.head)
    transaction_hash = record.block.transactions[0].hash
    wanted = trace_agents(computation, record.receipts[0].gas_used, b.chain.models)
    assert [one.decision.answer for one in wanted.steps] == [None, "Ten."]
    assert b.chain.stored_trace(transaction_hash) == wanted
    assert b.chain.find_agent_trace(transaction_hash) == wanted
    b.chain.revert(before)
    assert b.chain.stored_trace(transaction_hash) is None
    assert b.chain.find_agent_trace(transaction_hash) is None


def test_a_rollback_deletes_the_traces_of_its_blocks(bench: MakeBench) -> None:
    b = bench([answer("Ten.")])
    agent = Wallet(b).agent
    b.send(agent, instruct("How much?"))
    transaction_hash = b.chain.block_with_receipts(b.chain.head).block.transactions[0].hash
    assert b.chain.stored_trace(transaction_hash) is not None
    b.chain.rollback(b.chain.head.block_number - 1)
    assert b.chain.stored_trace(transaction_hash) is None
    assert b.chain.find_agent_trace(transaction_hash) is None


def test_a_transaction_without_agents_stores_no_trace(bench: MakeBench) -> None:
    b = bench()
    b.deploy("CounterTool")
    transaction_hash = b.chain.block_with_receipts(b.chain.head).block.transactions[0].hash
    assert b.chain.stored_trace(transaction_hash) is None
    found = b.chain.find_agent_trace(transaction_hash)
    assert found is not None
    assert found.steps == ()


@pytest.mark.parametrize("key", [b"agents:note:", trace_key(b"")])
def test_a_trace_is_recomputed_if_an_earlier_version_stored_it(
    bench: MakeBench, key: bytes
) -> None:
    b = bench([answer("Ten.")])
    agent = Wallet(b).agent
    b.send(agent, instruct("How much?"))
    transaction_hash = b.chain.block_with_receipts(b.chain.head).block.transactions[0].hash
    wanted = b.chain.stored_trace(transaction_hash)
    del b.chain.rows[trace_key(transaction_hash)]
    b.chain.rows[key + transaction_hash] = b'{"transactionHash": "0x"}'
    assert b.chain.stored_trace(transaction_hash) is None
    assert b.chain.find_agent_trace(transaction_hash) == wanted
