"""Generations of a block, replayed with any model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.executor import NullObserver
from precompiles.language_model import Confidence, Generation, GenerationRequest, Margin
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Chain
from pyevm_agents.chain.inference_log import ReplayModel, decode_generations, encode_generations
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import EngineFault
from pyevm_agents.vm import AgentComputation, RecordingObserver
from tests.byte_model import PROFILE, ByteModel
from tests.test_agents import Wallet, answer, instruct, use

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

RECORDING = RecordingObserver(NullObserver())

margins = st.builds(
    Margin,
    gap=st.floats(0, 100),
    token_index=st.integers(0, 511),
    chosen=st.text(),
    other=st.text(),
)
confidences = st.builds(Confidence, surprisal=st.integers(0, 2**40))
generations = st.builds(
    Generation,
    text=st.text(),
    tokens=st.lists(st.integers(0, 2**17)).map(tuple),
    forced_tokens=st.integers(0, 9),
    is_complete=st.booleans(),
    margin=st.none() | margins,
    confidence=st.none() | confidences,
)
exchanges = st.lists(
    st.tuples(st.lists(st.integers(0, 2**17)).map(tuple), generations), min_size=1, max_size=4
)


class Silent(ByteModel):
    """Must not be called."""

    def generate(self, request: GenerationRequest) -> Generation:
        raise AssertionError(request)


def asked(prompt_tokens: tuple[int, ...]) -> GenerationRequest:
    return GenerationRequest(segments=(), prompt_tokens=prompt_tokens, grammar="", max_tokens=1)


def test_a_row_without_confidence_has_no_field_of_it() -> None:
    computation = object.__new__(AgentComputation)
    computation.children = []
    generation = Generation(text="a", tokens=(1,), forced_tokens=0, is_complete=True)
    RECORDING.on_generation(computation, asked(()), generation)
    (entry,) = decode_generations(encode_generations([computation]) or b"")
    assert sorted(entry["said"]) == ["forced_tokens", "is_complete", "margin", "text", "tokens"]


@settings(max_examples=30)
@given(exchanges=exchanges)
def test_what_was_said_is_said_again_in_order(
    exchanges: list[tuple[tuple[int, ...], Generation]],
) -> None:
    computations = []
    for prompt_tokens, generation in exchanges:
        computation = object.__new__(AgentComputation)
        computation.children = []
        RECORDING.on_generation(computation, asked(prompt_tokens), generation)
        computations.append(computation)
    row = encode_generations(computations)
    assert row is not None
    model = ReplayModel(Silent([]), decode_generations(row))
    for prompt_tokens, generation in exchanges:
        assert model.generate(asked(prompt_tokens)) == generation
    with pytest.raises(EngineFault, match="store a new chain"):
        model.generate(asked(exchanges[0][0]))


def test_to_another_prompt_nothing_is_said() -> None:
    computation = object.__new__(AgentComputation)
    computation.children = []
    said = Generation(text="a", tokens=(1,), forced_tokens=0, is_complete=True)
    RECORDING.on_generation(computation, asked((1, 2)), said)
    row = encode_generations([computation])
    assert row is not None
    with pytest.raises(EngineFault, match="are of other prompts"):
        ReplayModel(Silent([]), decode_generations(row)).generate(asked((1, 3)))


def test_a_block_is_executed_again_as_it_was_after_it_was_undone_too(bench: MakeBench) -> None:
    texts = [use("ViewBalanceTool", asset="USDC"), answer("Ten."), answer("Another.")]
    b = bench(texts)
    agent = Wallet(b).agent
    snapshot = b.chain.snapshot()
    _, first = b.send(agent, instruct("How much?"))
    record = b.chain.block_with_receipts(b.chain.head)
    assert [one.inference.text for one in extract_agent_steps(first)] == texts[:2]
    _, again = b.chain.replay(record, 0)
    assert extract_agent_steps(again) == extract_agent_steps(first)
    b.chain.revert(snapshot)
    _, undone = b.chain.replay(record, 0)
    assert extract_agent_steps(undone) == extract_agent_steps(first)
    # It took nothing of what is still to be said.
    _, other = b.send(agent, instruct("How much?"))
    assert [one.answer for one in extract_agent_steps(other)] == ["Another."]


def test_a_block_without_agents_keeps_nothing_of_it(bench: MakeBench) -> None:
    b = bench()
    _, computation = b.send(b.deploy("CounterTool"), keccak(b"nothing()")[:4])
    assert encode_generations([computation]) is None
    assert Chain(ChainConfig(models=(PROFILE,)), {"bytes": Silent([])}).mine().computations == ()
