"""Requests of chains with numeric models: the answer is the embedded one, with or without them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.cli.app import main
from pyevm_agents.config import ChainConfig
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.models import answer
from pyevm_agents.oracle.recomputation import ForkComputer, HostedModels, ModelOptions
from pyevm_agents.oracle.rpc_methods import METHODS
from pyevm_agents.rpc.dispatcher import Dispatcher
from pyevm_agents.rpc.methods.registry import build_node_service
from tests.byte_model import PROFILE, ByteModel
from tests.numeric_model import SumModel
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import PROMPT, OracleChain, count_and_answer
from tests.pyevm_agents.oracle.test_recomputation import embedded
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def open_numeric_chain() -> Chain:
    """Return a chain with a model of each kind."""
    numeric = {"sum": SumModel()}
    return Chain(
        ChainConfig(models=(PROFILE,), numeric_models=build_numeric_profiles(numeric)),
        {PROFILE.name: ByteModel(count_and_answer)},
        numeric_models=numeric,
        accounts={one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES},
    )


@pytest.fixture
def served() -> Iterator[Served]:
    it = Served(chain=open_numeric_chain())
    it.service = build_node_service(it.node, send_seconds=240, tables=[METHODS])
    it.dispatcher = Dispatcher(it.service)
    yield it
    it.close()


@pytest.mark.parametrize("has_numeric_models", [True, False])
def test_a_worker_answers_as_the_chain_itself(served: Served, *, has_numeric_models: bool) -> None:
    hosted = host(ByteModel(count_and_answer))
    if has_numeric_models:
        hosted = HostedModels.of_chain(open_numeric_chain())
        assert hosted.numeric_models.keys() == {"sum"}
    with fake_remote(served) as remote:
        request = OracleChain(served.ask, remote.url).ask_agent()
        with ForkComputer(remote.url, hosted, retries=0) as computer:
            assert computer.compute(request).answer.output == embedded(served, request)


def test_a_node_estimates_callbacks_of_its_own_chain(served: Served) -> None:
    agent = OracleChain(served.ask, "").agent
    told = served.ask("agent_estimateCallback", {"agent": agent.address, "prompt": PROMPT})
    assert len(told["steps"]) == 2


def test_options_host_models_of_both_kinds() -> None:
    numeric = {"sum": SumModel()}
    options = ModelOptions(script=[answer("Done.")], numeric_models=numeric)
    with ExitStack() as stack:
        hosted = options.open(stack)
    assert hosted.numeric_models == numeric
    assert hosted.config.numeric_models == build_numeric_profiles(numeric)
    assert len(hosted.config.models) == 1


AGENT = "0x" + "12" * 20


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "0x" + "12" * 32],
        ["estimate", "--callback", AGENT, "Add 7"],
    ],
)
def test_commands_that_open_forks_take_numeric_models(
    words: list[str], served: Served, tmp_path: Path
) -> None:
    with fake_remote(served) as remote:
        given = ["--rpc-url", remote.url, "--numeric-model", f"a={tmp_path}/gone.onnx"]
        told = CliRunner().invoke(main, [*words, *given])
    assert told.exit_code == 2, told.output
    assert f"--numeric-model a={tmp_path}/gone.onnx: model file" in " ".join(told.output.split())
