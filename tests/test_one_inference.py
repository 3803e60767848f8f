"""Call, estimate, send, trace and execute again: one inference for each step of an agent.

In the free format each step is an inference.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Call
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, create_development_chain
from pyevm_agents.models import LlamaModel, Store
from pyevm_agents.models.gguf.files import FREE_ADAPTER
from pyevm_agents.scenarios.wallet import DEFAULT_INSTRUCTION, WalletDemo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest, Segment
    from pyevm_agents.models import ProfileFacts


@pytest.fixture(scope="module")
def free_model() -> Iterator[LlamaModel]:
    with LlamaModel(adapter=FREE_ADAPTER, threads=2) as model:
        yield model


@dataclass
class Counted:
    """The real model, and a list of its requests."""

    model: LlamaModel
    generated: list[GenerationRequest] = field(default_factory=list)
    resumed: list[GenerationRequest] = field(default_factory=list)

    @property
    def profile_facts(self) -> ProfileFacts:
        return self.model.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        self.generated.append(request)
        return self.model.generate(request)

    def resume(self, request: GenerationRequest, known: Generation) -> Generation:
        self.resumed.append(request)
        return self.model.resume(request, known)


def everything(model: Counted, store: Store | None) -> tuple[int, list[str]]:
    """Call, estimate, send, trace, replay; return the steps of each."""
    wallet = WalletDemo(create_development_chain(model, model.profile_facts, store=store))
    chain = wallet.chain
    data = load_artifact("WalletAgent").encode_call("instruct", DEFAULT_INSTRUCTION)
    call = Call(to=wallet.agent, sender=DEVELOPMENT_ADDRESS, data=data)
    called = chain.call(call)
    assert called.error is None
    assert chain.estimate_gas(call) >= called.gas_used
    before = chain.snapshot()
    texts = []
    for _ in range(2):  # Sent and traced, then executed again from the state before it.
        run = wallet.run(DEFAULT_INSTRUCTION)
        assert run.is_success
        texts.append([step.inference.text for step in run.steps])
        chain.revert(before)
        before = chain.snapshot()
    assert (
        texts[0]
        == texts[1]
        == [step.inference.text for step in extract_agent_steps(called.computation)]
    )
    return len(texts[0]), texts[0]


@pytest.mark.slow
def test_one_inference_a_step_and_none_for_who_shares_the_store(
    free_model: LlamaModel, tmp_path: Path
) -> None:
    path = tmp_path / "store.sqlite3"
    with Store(path) as store:
        first = Counted(free_model)
        steps, texts = everything(first, store)
        assert (len(first.generated), len(first.resumed)) == (steps, 0)
        asked = store.session["hits"] + steps
        assert asked >= 6 * steps  # Called, estimated in three runs, sent twice.
    with Store(path) as store:
        second = Counted(free_model)
        assert everything(second, store) == (steps, texts)
        assert (second.generated, second.resumed) == ([], [])
        assert store.session == {"hits": asked}


@pytest.mark.slow
def test_what_the_gas_cut_is_continued_when_there_is_more(free_model: LlamaModel) -> None:
    model = Counted(free_model)
    wallet = WalletDemo(create_development_chain(model, model.profile_facts))
    data = load_artifact("WalletAgent").encode_call("instruct", DEFAULT_INSTRUCTION)
    call = Call(to=wallet.agent, sender=DEVELOPMENT_ADDRESS, data=data)
    # Of another chain, whose generations this one does not know. A step's text takes some 350,000.
    other = WalletDemo(create_development_chain(free_model, free_model.profile_facts))
    enough = other.chain.estimate_gas(call)
    for gas in range(enough - 1_200_000, enough + 50_000, 50_000):
        outcome = wallet.chain.call(replace(call, gas=gas))
    assert outcome.error is None
    assert model.resumed
    asked = [*model.generated, *model.resumed]
    prompts = {request.prompt_tokens for request in asked}
    assert len(model.generated) == len(prompts) == len(extract_agent_steps(outcome.computation))
    for prompt in prompts:
        limits = [request.max_tokens for request in asked if request.prompt_tokens == prompt]
        assert limits == sorted(set(limits))
