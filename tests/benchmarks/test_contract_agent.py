"""The agent of the swap world: the ideal run of each request, through account and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from rich.console import Console

from benchmarks.contenders import Contender, Player
from benchmarks.contract_agent import deploy_stage
from benchmarks.contract_intelligence import measure_encoding, read_options
from benchmarks.contract_scenarios import build_task, run_request, run_scenarios
from benchmarks.contract_wordings import read_wordings
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel
from pyevm_agents.scenarios.swap.requests import (
    REQUESTS,
    CallLimits,
    list_expected_calls,
)

if TYPE_CHECKING:
    from benchmarks.contract_agent import SwapStage
    from pyevm_agents.models import Vocabulary


class Play(NamedTuple):
    """A stage, and the model that plays the agent's runs."""

    contender: Contender
    stage: SwapStage


@pytest.fixture(scope="module")
def play(vocabulary: Vocabulary) -> Play:
    player = Player()
    model = ScriptedModel(player, vocabulary=vocabulary)
    facts = model.profile_facts
    chain = create_funded_chain(model, facts, build_model_profile(facts))
    contender = Contender(name="right", chain=chain, digest=facts.digest, rules={}, player=player)
    return Play(contender, deploy_stage(chain, "BNB"))


def test_the_refusal_names_the_function_and_who_could_call_it(play: Play) -> None:
    assert play.stage.refusal.startswith("I cannot call adminFunction because in AdminSwitch only ")
    assert "only OWNER_OF_USDT may" in play.stage.refusal


def test_the_ideal_run_of_each_design_request_is_right(play: Play) -> None:
    wordings = {name: texts[:1] for name, texts in read_wordings("BNB").items()}
    runs = [*run_scenarios(*play, wordings)]
    assert [run.scenario for run in runs] == [*REQUESTS]
    for run in runs:
        assert run.is_right, run
        assert run.encoded == run.uses
    assert [call.contract for call in runs[-1].calls] == ["USDT", "router"]


@pytest.mark.slow
def test_the_ideal_run_of_every_wording_is_right(play: Play) -> None:
    wordings = read_wordings("BNB")
    runs = [*run_scenarios(*play, wordings)]
    assert len(runs) == 50
    assert [run for run in runs if not run.is_right] == []


def test_a_run_is_undone(play: Play) -> None:
    stage = play.stage
    account = stage.agent.account
    before = stage.market.read_balance(account)
    limits = CallLimits(slippage_bps=stage.agent.slippage_bps, deadline=0)
    expected = list_expected_calls(stage.market, account, "swap-back", limits)
    question = "Swap 100 USDT for BNB"
    play.contender.begin(build_task(stage.agent, question, expected, stage.refusal))
    run = run_request(stage, "swap-back", question)
    assert run.is_right
    assert stage.market.read_balance(account) == before


@pytest.mark.slow
def test_texts_are_encoded_on_the_chain() -> None:
    options = read_options(["--count", "2", "--chain-count", "2"])
    heartbeat = Heartbeat("encoding", write=lambda _: None)
    report = measure_encoding(options, heartbeat, Console(quiet=True))
    assert report["values"] == report["equal"] == 2 * report["parameters"]
    assert report["calls"] == report["callsEqual"] == report["functions"]
    assert len(report["solidity"]) > 20
    assert all(one["equal"] == one["values"] == 2 for one in report["solidity"])
