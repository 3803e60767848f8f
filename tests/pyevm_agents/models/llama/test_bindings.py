"""Bit-for-bit equal logits for every batch shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from precompiles.language_model import Segment
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.engine_messages import EngineRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.models.conftest import MakeRequest

OTHER = [40, 50, 60]


@pytest.fixture(scope="module")
def two_threads() -> Iterator[LlamaModel]:
    """The default model with two threads, in a separate process."""
    with LlamaModel(threads=2) as model:
        yield model


@pytest.fixture(scope="module")
def prompt(llama: LlamaModel, make_request: MakeRequest) -> list[int]:
    """A prompt of 60 tokens."""
    tokens = list(make_request().prompt_tokens)
    tokens += llama.tokenize((Segment(text=" Deploy the asset into the pool and say so." * 10),))
    return tokens[:60]


def logits(model: LlamaModel, tokens: list[int], *, batch_tokens: int = 512) -> str:
    return model.engine.ask(
        EngineRequest(operation="logits", tokens=tokens, max_tokens=batch_tokens)
    )["logits"]


def fresh(model: LlamaModel, tokens: list[int], *, batch_tokens: int = 512) -> str:
    """Evaluate without a reused prefix, by evaluating another prompt in between."""
    logits(model, OTHER)
    return logits(model, tokens, batch_tokens=batch_tokens)


def test_seven_shapes_give_the_same_bits(
    llama: LlamaModel, two_threads: LlamaModel, prompt: list[int]
) -> None:
    found = {"1 thread": fresh(llama, prompt)}
    for batch_tokens in (512, 64, 8, 1):
        found[f"2 threads, batch {batch_tokens}"] = fresh(
            two_threads, prompt, batch_tokens=batch_tokens
        )
    for split in (7, 40):
        fresh(two_threads, prompt[:split])
        found[f"2 threads, split after {split}"] = logits(two_threads, prompt)
    assert len(set(found.values())) == 1, found


def test_a_kept_prefix_gives_the_same_bits_as_a_fresh_context(
    two_threads: LlamaModel, prompt: list[int]
) -> None:
    expected = {length: fresh(two_threads, prompt[:length]) for length in (33, 44, 60)}
    for length, between in (
        (60, []),
        (44, []),
        (60, [7, 8]),
        (33, [9] * 20),
        (44, [11] * 3),
        (60, [12]),
    ):
        if between:
            logits(two_threads, prompt[:40] + between)
        assert logits(two_threads, prompt[:length]) == expected[length]


def test_the_same_prompt_again_gives_the_same_bits(llama: LlamaModel, prompt: list[int]) -> None:
    assert logits(llama, prompt) == logits(llama, prompt) == fresh(llama, prompt)


def test_a_prompt_of_one_token_is_evaluated(two_threads: LlamaModel) -> None:
    assert fresh(two_threads, [5]) != fresh(two_threads, [6])


@pytest.mark.slow
def test_processes_with_one_and_two_threads_agree(
    llama: LlamaModel, two_threads: LlamaModel, make_request: MakeRequest
) -> None:
    assert llama.profile_facts == two_threads.profile_facts
    request = make_request("Withdraw 7 WETH.")
    assert llama.generate(request) == two_threads.generate(request)
