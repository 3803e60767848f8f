"""`pyevm-agents model`: models under names, and a node, a demo and a suite that use them."""

from __future__ import annotations

import json
import sys
import unittest
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_abi.abi import encode

from benchmarks import agent_accuracy
from benchmarks.adapters import write_random_adapter
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.cli.app import main
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.local_node.genesis_file import GenesisFile
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.models.gguf.files import combine_digests, hash_file
from pyevm_agents.models.store.store import MEMORY
from pyevm_agents.recordings import read_fixture, record_chain, write_fixture
from pyevm_agents.testing.genesis_template import temporary_templates
from pyevm_agents.testing.unittest_case import AgentTestCase
from tests.chain_bench import OWNER, OWNER_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

    from pyevm_agents.local_node import OpenNode
    from pyevm_agents.models import LlamaModel


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def adapter(reduced_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    return write_random_adapter(reduced_model, folder / "lora.gguf")


@pytest.fixture(scope="module")
def added(
    reduced_model: Path, adapter: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Result]:
    """The output of two additions: a file, and its name with an adapter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("models")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        tiny = invoke("model", "add", reduced_model, "--name", "tiny", "--alias", "small")
        assert tiny.exit_code == 0, tiny.output
        options = ("--name", "tiny-lora", "--context", 1_000, "--json")
        other = invoke("model", "add", "tiny", "--adapter", adapter, *options)
        assert other.exit_code == 0, other.output
        assert json.loads(other.stdout)["contextTokens"] == 1_000
        yield tiny


def test_add_prints_what_a_user_must_know(added: Result, reduced_model: Path) -> None:
    for text in (
        str(reduced_model),
        hash_file(reduced_model).hex(),
        "llama, 35 million parameters, quantisation Q4_1",
        "8,192 tokens of 8,192 trained",
        "49 MB with a full context",
        "apache-2.0",
        r'chat middle  "<|im_end|>\n<|im_start|>user\n"',
        "aliases      small",
        "pyevm-agents node --model tiny",
    ):
        assert text in added.stdout, text


@pytest.mark.usefixtures("added")
def test_the_names_share_a_file(reduced_model: Path, adapter: Path) -> None:
    listed = json.loads(invoke("model", "list", "--json").stdout)["added"]
    assert [each["name"] for each in listed] == ["tiny", "tiny-lora"]
    assert {each["path"] for each in listed} == {str(reduced_model)}
    digest = combine_digests(hash_file(reduced_model), hash_file(adapter, role="adapter"))
    assert listed[1]["sha256"] == digest.hex()
    plain = invoke("model", "list").stdout
    for line in (
        "sentiment              numeric",
        "smollm2-135m-react     installed",
        "tiny-lora              ready",
    ):
        assert line in plain
    shown = json.loads(invoke("model", "show", "tiny-lora", "--json").stdout)
    assert (shown["name"], shown["sha256"]) == ("tiny-lora", digest.hex())
    assert "none" not in invoke("model", "show", "tiny").stdout.split("adapter")[0]


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add"], "missing FILE"),
        (["add", "no-such.gguf"], "model file no-such.gguf does not exist; check the path"),
        (["add", __file__], "is not GGUF"),
        (["add", "tiny", "--name", "tiny"], "model name tiny: is taken"),
        (["add", "tiny", "--name", "smollm2-135m-react"], "belongs to an installed model"),
        (["add", "tiny", "--name", "a", "--alias", "a b"], "model name 'a b': use"),
        (["add", "tiny", "--name", "a", "--context", "9000"], "must be 1 to 8192"),
        (["add", "tini"], "did you mean tiny?"),
        (["show", "tini"], "did you mean tiny?"),
        (["remove", "tini"], "did you mean tiny?"),
        (["remove", "smollm2-135m-react"], "is installed with the package"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    result = invoke("model", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.usefixtures("added")
def test_a_removed_name_is_gone(reduced_model: Path) -> None:
    assert invoke("model", "add", reduced_model, "--name", "brief").exit_code == 0
    removed = invoke("model", "remove", "brief")
    assert str(reduced_model) in "".join(removed.stdout.split("\n"))
    assert reduced_model.exists()
    assert invoke("model", "show", "brief").exit_code == 2


@contextmanager
def open_models(*names: str) -> Iterator[OpenNode]:
    """Open a node with these models, without a server."""
    config = NodeConfig(
        chain_id=1,
        gas_limit=10**8,
        base_fee_wei=1,
        timestamp_seconds=1,
        genesis=GenesisFile(accounts={OWNER: GenesisAccount(balance_wei=10**30)}),
        models=names,
        threads=1,
        store_path=MEMORY,
    )
    with open_node(config, serve=False) as opened:
        yield opened


def read_mapped_kinds(llama: LlamaModel, file: Path) -> set[str]:
    """Return how an engine's process maps a file: `s` for shared pages, `p` for its own."""
    _ = llama.profile_facts
    lines = Path(f"/proc/{llama.engine.process_id}/maps").read_text().splitlines()
    return {line.split()[1][3] for line in lines if line.endswith(str(file))}


@pytest.mark.usefixtures("added")
@pytest.mark.slow
def test_a_chain_with_two_models_of_one_file(
    reduced_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # Without kept facts, both engines start.
    with open_models("tiny", "tiny-lora") as node:
        config = node.chain.config
        if sys.platform == "linux":
            assert [read_mapped_kinds(each, reduced_model) for each in node.engines] == [{"s"}] * 2
    first, second = config.models
    assert (first.name, first.aliases) == ("tiny", ("small", *ALIASES))
    assert (second.name, second.aliases, second.context_tokens) == ("tiny-lora", (), 1_000)
    assert first.fingerprint == ""
    assert second.fingerprint not in {"", config.profile_fingerprint}
    assert ChainConfig.from_json(config.to_json()) == config


@pytest.fixture(scope="module")
def recorded(added: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a chain on which an agent of each of two models ran."""
    assert added.exit_code == 0
    with open_models("tiny", "tiny-lora") as opened:
        chain = opened.chain
        owner = LocalAccount(chain, OWNER_KEY)
        contract = load_artifact("SimpleAgent")
        for name in ("small", "tiny-lora"):
            texts = (name, "Agent", "Answers", "What to do", "You answer.")
            agent = owner.deploy(contract.encode_creation(EXECUTOR_ADDRESS, *texts, [], 1))
            prompt = encode(["string"], ["Say yes."])
            owner.send(agent, contract.encode_call("run", ([(0, prompt)], prompt), bytes(20)))
        fixture = record_chain(chain, name="pair", comment="Two models.")
    path = tmp_path_factory.mktemp("recorded") / "pair.json"
    write_fixture(fixture, path)
    return path


@pytest.mark.slow
def test_a_chain_of_two_models_replays_from_its_recording(recorded: Path) -> None:
    fixture = read_fixture(recorded)
    assert [step.exchange.model for step in fixture.steps] == ["tiny", "tiny-lora"]
    assert invoke("replay", recorded).exit_code == 0


@pytest.mark.slow
def test_replay_recomputes_with_several_models_in_any_order(recorded: Path) -> None:
    models = ("--model", "tiny-lora", "--model", "tiny", "--threads", 1)
    result = invoke("replay", "--recompute", *models, recorded)
    assert result.exit_code == 0, result.output
    assert "2 generations (computed again)" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no --model is the chain's model tiny, SHA-256"),
        (["--model", "tiny"], "no --model is the chain's model tiny-lora, SHA-256"),
        (["--model", "tiny", "--model", "tiny-lora", "--adapter", "none"], "needs a single --mod"),
    ],
)
def test_replay_needs_each_model_of_the_chain(
    recorded: Path, arguments: list[str], message: str
) -> None:
    result = invoke("replay", "--recompute", *arguments, recorded)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.slow
@pytest.mark.usefixtures("added")
def test_a_chain_has_each_model_once(reduced_model: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"models tiny and .* have one SHA"),
        open_models("tiny", str(reduced_model)),
    ):
        pass


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("option", ["--adapter=none", "--fixture=wallet_agent"])
def test_options_for_one_model_are_refused_for_two(option: str) -> None:
    result = invoke("node", "--model", "tiny", "--model", "tiny-lora", option)
    assert result.exit_code == 2
    assert "needs a single --model" in result.stderr


@pytest.mark.usefixtures("added")
def test_a_suite_selects_a_name() -> None:
    class Case(AgentTestCase):
        agent_model = "tiny-lora"

        def test_it_is_the_chains(self) -> None:
            (profile,) = self.chain.chain.config.models
            assert (profile.name, profile.context_tokens) == ("tiny-lora", 1_000)
            assert profile.aliases == ALIASES

    with temporary_templates():
        result = unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(unittest.TestResult())
    assert result.testsRun == 1
    assert result.wasSuccessful(), result.errors + result.failures


@pytest.mark.slow
@pytest.mark.usefixtures("added")
def test_the_benchmark_takes_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "tiny-lora", "--count", "2", "--only", "tasks", "--threads", "1"]
    assert agent_accuracy.main(arguments) == 0
    assert "right final state, one step" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        agent_accuracy.main(["--model", "tini"])
    assert "did you mean tiny?" in capsys.readouterr().err
