"""Cassettes without pytest, recorded on one chain and replayed on another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from precompiles.language_model import Generation, GenerationRequest, Segment
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.fakes.recorded import Exchange
from pyevm_agents.models.llama.engine import Engine
from pyevm_agents.testing.cassette_file import read_cassette
from pyevm_agents.testing.cassettes import (
    CassetteError,
    CassettePlayer,
    cassette,
    deduplicate_exchanges,
)
from pyevm_agents.testing.chain import AgentChain
from tests.byte_model import ByteModel
from tests.pyevm_agents.testing.agents import clerk
from tests.pyevm_agents.testing.byte_answers import five

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from web3.types import TxParams


@pytest.fixture
def chain() -> Iterator[AgentChain]:
    with AgentChain() as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cassette.json"


def add_five(chain: AgentChain, question: str = "Add five") -> int:
    counter = chain.deploy("CounterTool")
    receipt = chain.ask(clerk(chain, counter), question)
    assert counter.functions.number().call() == 5
    return int(receipt["gasUsed"])


def test_a_replay_is_the_same_at_the_same_gas_and_needs_no_vocabulary(
    chain: AgentChain, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = five()
    with cassette(chain, file, record=model, test="test"):
        gas = add_five(chain)
    asked = len(model.requests)
    assert read_cassette(file).test == "test"
    with AgentChain() as other, cassette(other, file):
        monkeypatch.delattr(Engine, "ask")
        assert add_five(other) == gas
    assert len(model.requests) == asked == 2


def test_asking_again_is_no_further_step(chain: AgentChain, file: Path) -> None:
    with cassette(chain, file, record=five()):
        counter = chain.deploy("CounterTool")
        agent = clerk(chain, counter)
        sent = chain.w3.eth.get_transaction(chain.ask(agent, "Add five")["transactionHash"])
    assert len(read_cassette(file).exchanges) == 2
    again: TxParams = {"to": sent["to"], "from": sent["from"], "data": sent["input"]}
    with AgentChain() as other, cassette(other, file):
        clerk(other, other.deploy("CounterTool"))
        other.w3.eth.call(again)
        other.w3.eth.estimate_gas(again)
        other.w3.eth.send_transaction(again)


def test_a_tests_own_model_is_not_recorded(chain: AgentChain, file: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"records a real model, .* give chain.genesis.weights"),
        cassette(chain, str(file), record=chain.model),
    ):
        raise AssertionError("nothing begins")
    assert not file.exists()


def test_what_raises_writes_nothing(chain: AgentChain, file: Path) -> None:
    def fail() -> None:
        with cassette(chain, file, record=five()):
            add_five(chain)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not file.exists()


def test_a_model_that_fails_is_not_recorded(chain: AgentChain, file: Path) -> None:
    def fail(_: GenerationRequest) -> str:
        raise EngineFault("died")

    with (
        pytest.raises(CassetteError, match=r"failed over a prompt(.|\n)*Question: Add five"),
        cassette(chain, file, record=ByteModel(fail, is_free=True)),
        pytest.raises(EngineFault, match="died"),
    ):
        add_five(chain)
    assert not file.exists()


def test_the_model_of_another_chain_is_refused(chain: AgentChain, file: Path) -> None:
    class Other(ByteModel):
        @property
        def profile_facts(self) -> object:
            return replace(chain.genesis.vocabulary.profile_facts, digest=bytes(32))

    with (
        pytest.raises(CassetteError, match=r"the model to record is 0x0+, the chain's smollm2"),
        cassette(chain, file, record=Other([])),
    ):
        pass


def test_nothing_recorded_is_nothing_to_play(chain: AgentChain, file: Path) -> None:
    with (
        pytest.raises(CassetteError, match="no model was asked for anything"),
        cassette(chain, file, record=five()),
    ):
        pass
    with (
        pytest.raises(CassetteError, match=r"there is no cassette .*\nto make it, record it with"),
        cassette(chain, file),
    ):
        pass


def test_another_prompt_is_a_fault_and_leaves_no_trace(chain: AgentChain, file: Path) -> None:
    with cassette(chain, file, record=five()):
        add_five(chain)
    with AgentChain() as other:
        player = CassettePlayer(read_cassette(file), "tape")
        player.insert(other)
        agent = clerk(other, other.deploy("CounterTool"))
        blocks = other.w3.eth.block_number
        with pytest.raises(CassetteError, match=r"prompt of step 1 of 2 is not[^+]*\+\+\+ now"):
            other.ask(agent, "Add four")
        assert other.w3.eth.block_number == blocks
        with pytest.raises(CassetteError, match="tape: 2 of its 2 steps were not asked for"):
            player.finish()


def test_other_rules_of_what_may_be_said_are_told(chain: AgentChain, file: Path) -> None:
    with cassette(chain, file, record=five()):
        add_five(chain)
    tape = read_cassette(file)
    player = CassettePlayer(tape, "tape")
    with AgentChain() as other:
        player.insert(other)
        step = tape.exchanges[0]
        request = GenerationRequest(
            segments=step.segments,
            prompt_tokens=step.prompt_tokens,
            grammar=str(step.grammar).replace("CounterTool", "CountingTool"),
            max_tokens=512,
        )
        assert other.model.tokenize(step.segments) == step.prompt_tokens
        with pytest.raises(
            CassetteError, match=r"its grammar changed\n--- recorded(.|\n)*CountingTool"
        ):
            other.model.generate(request)


def asked(
    text: str, said: str | None = None, limit: int | None = None, *, is_complete: bool = True
) -> Exchange:
    generation = None
    if said is not None:
        generation = Generation(
            text=said, tokens=tuple(said.encode()), forced_tokens=1, is_complete=is_complete
        )
    return Exchange(
        model="bytes",
        segments=(Segment(text=text),),
        prompt_tokens=tuple(text.encode()),
        grammar=None if limit is None else "start: /.*/",
        max_tokens=limit,
        generation=generation,
    )


def test_each_prompt_is_kept_once_with_the_longest_words() -> None:
    cut = asked("a", "on", 2, is_complete=False)
    whole = asked("a", "one", 9)
    log = [asked("r"), cut, asked("b"), asked("a", None, 5), whole, asked("b", "two", 9), cut]
    assert deduplicate_exchanges(log) == (asked("r"), whole, asked("b", "two", 9))
    (settled,) = deduplicate_exchanges([cut, cut])
    assert settled.generation is not None
    assert settled.generation.forced_tokens == 0
