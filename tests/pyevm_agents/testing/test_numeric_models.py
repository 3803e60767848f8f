"""Chains of the test kit with numeric models: calls, agents, cassettes, recordings, forks."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode

from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric import NumericFile, open_shipped
from pyevm_agents.recordings import record_chain
from pyevm_agents.recordings.replay import Replay
from pyevm_agents.testing import (
    AgentChain,
    AgentTestCase,
    ScriptedModel,
    answer,
    assert_agent,
    cassette,
    use,
)
from pyevm_agents.testing.genesis_template import get_genesis_template
from tests.numeric_file import build_numeric_file
from tests.numeric_model import MODELS, SumModel, run_call
from tests.pyevm_agents.forking.fake_remote import build_remote_chain, fake_remote
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.models.numeric.catalogue import NamedModels

ADDRESS = "0x" + MODELS.hex()
WORDS = 2**21
SENTENCE: tuple[object, ...] = (
    "Sentiment",
    [],
    [],
    [(0, "", "", 0, 2, 1, [(-1, "negative"), (1, "positive")])],
)


def call(chain: AgentChain, name: str, *values: int) -> tuple[int, ...]:
    data = "0x" + run_call(values, name).hex()
    output = chain.request("eth_call", {"to": ADDRESS, "data": data}, "latest")
    found: tuple[int, ...] = decode(["int256[]"], bytes.fromhex(output[2:]))[0]
    return found


def deploy_reader(chain: AgentChain) -> Any:  # noqa: ANN401 - a web3 Contract
    """Deploy an agent whose tool rates texts with the shipped model."""
    model = (ADDRESS, "sentiment", open_shipped("sentiment").digest)
    texts = ("Rate", "Rates a post", "post", "text of the post")
    return clerk(chain, chain.deploy("TextModelTool", *texts, model, WORDS, SENTENCE))


def test_models_are_given_by_file_by_name_and_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "line.onnx"
    file.write_bytes(build_numeric_file())
    given: NamedModels = {
        "a": file,
        "b": "risk",
        "c": NumericFile(build_numeric_file(5)),
        "d": SumModel(),
    }
    with AgentChain(numeric_models=given) as chain:
        assert [each.name for each in chain.chain.config.numeric_models] == [*given]
        assert call(chain, "a", 1, 2) == (4, 7)
        assert call(chain, "b", *[0] * 20) == (0,)
        assert call(chain, "c", 1, 2) == (6, 11)
        assert call(chain, "d", 1, 2, 3) == (6, -4)


def test_each_choice_has_a_genesis_of_its_own_and_the_same_vocabulary() -> None:
    plain, read = get_genesis_template(), get_genesis_template(numeric_models=["sentiment"])
    assert read is get_genesis_template(numeric_models={"sentiment": "sentiment"})
    assert read is not plain
    assert read.vocabulary is plain.vocabulary
    assert read.derive(numeric_models={}).config == plain.config
    prices = ScheduleFile(schedule={"tool_gas": 7})
    cheap = read.derive(prices)
    assert (cheap.config.schedule.tool_gas, len(cheap.config.numeric_models)) == (7, 1)
    assert cheap.derive(fork="cancun").config.numeric_models == read.config.numeric_models


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["default=risk"], "two models are called 'default'; give each its own name"),
        ({"a": "risk", "risk": "risk"}, "numeric models a and risk have one SHA-256"),
        ({"a b": "risk"}, "model name 'a b': use 1 to 64 letters"),
        (["a=gone.onnx"], "numeric model a=gone.onnx: model file gone.onnx can't be read"),
    ],
)
def test_a_mistake_is_told(models: NamedModels, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AgentChain(numeric_models=models)


@pytest.mark.slow
def test_an_agent_reads_a_post_and_a_cassette_replays_it(tmp_path: Path) -> None:
    file = tmp_path / "cassette.json"
    with AgentChain(numeric_models=["sentiment"]) as chain:
        script: list[Step] = [use("Rate", post="I love it"), answer("Good.")]
        scripted = ScriptedModel(script, vocabulary=chain.genesis.vocabulary)
        with cassette(chain, file, record=scripted):
            first = chain.ask(deploy_reader(chain), "Rate it: I love it")
        assert_agent(first, chain).used("Rate").observed("Sentiment: 0.32 (positive)")
        fixture = record_chain(chain.chain, name="reader", comment="A post.")
        assert fixture.numeric_files == {"sentiment": open_shipped("sentiment").data}
        Replay(fixture).finish()
    with AgentChain(numeric_models=["sentiment"]) as other, cassette(other, file):
        again = other.ask(deploy_reader(other), "Rate it: I love it")
    assert (again["gasUsed"], again["blockHash"]) == (first["gasUsed"], first["blockHash"])


def test_a_fork_of_a_live_chain_has_them() -> None:
    with ExitStack() as stack:
        served = build_remote_chain()
        stack.callback(served.close)
        remote = stack.enter_context(fake_remote(served))
        chain = stack.enter_context(AgentChain(fork_url=remote.url, numeric_models=["risk"]))
        assert chain.w3.eth.block_number == 3
        assert call(chain, "risk", *[0] * 20) == (0,)


def test_the_attribute_of_a_test_case_has_them() -> None:
    class Reading(AgentTestCase):
        agent_numeric_models = ("risk",)

        def runTest(self) -> None:  # noqa: N802 - unittest's
            assert call(self.chain, "risk", *[0] * 20) == (0,)

    result = Reading().run()
    assert result is not None
    assert result.wasSuccessful(), result.errors
