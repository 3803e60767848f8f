"""The chains of `chain_fixtures/` replay, recompute equal, and match their comments.

No text and no gas of a model is written here: `make fixtures` may change them all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.cli.record import SCENARIOS
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.model_registry.profiles import DEFAULT_MODEL_NAME
from pyevm_agents.models import ScriptedModel, answer
from pyevm_agents.models.gguf.files import (
    combine_digests,
    find_default_adapter,
    find_default_model,
    hash_file,
)
from pyevm_agents.recordings import Replay, open_chain, read_fixture
from pyevm_agents.scenarios.council.demo import MARKET_QUESTION
from pyevm_agents.scenarios.loan.applications import read_applications
from pyevm_agents.scenarios.loan.demo import AFTER, BEFORE
from pyevm_agents.scenarios.recorded import record_scenario
from pyevm_agents.scenarios.swap.requests import REQUESTS
from pyevm_agents.scenarios.trading.demo import RECORDED_POST_COUNT
from pyevm_agents.scenarios.trading.posts import read_posts
from pyevm_agents.scenarios.trading.world import open_trading_models

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel, Vocabulary
    from pyevm_agents.recordings import Fixture
    from tests.samples import Sample

FOLDER = Path(__file__).resolve().parents[3] / "chain_fixtures"
MAX_FILE_BYTES = 1_400_000
"""Uniswap, the trading desk and the tools' contracts, twice: in the first state and in the last."""


COMPUTED_AGAIN = ("rollback", "wallet")
"""Chains that CI computes again on the default model."""

SLOW = {"swap", "trading", "loan", "run", "council"}
"""Scenarios with many contracts."""


def shipped(name: str) -> Fixture:
    return read_fixture(FOLDER / f"{name}.json")


def test_every_scenario_is_shipped_and_nothing_else() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == set(SCENARIOS)


@pytest.mark.parametrize(
    "name",
    [
        *(n for n in SCENARIOS if n not in {"trading", "loan"}),
        pytest.param("trading", marks=pytest.mark.slow),  # Optimizes four times in Solidity.
        pytest.param("loan", marks=pytest.mark.slow),  # Forty steps of nested agents.
    ],
)
def test_a_shipped_chain_replays_without_a_model(name: str) -> None:
    fixture = shipped(name)
    assert fixture.name == name
    assert fixture.config.models[0].name == DEFAULT_MODEL_NAME
    adapter = find_default_adapter()
    assert adapter is not None
    wanted = combine_digests(hash_file(find_default_model()), hash_file(adapter, role="adapter"))
    assert fixture.config.models[0].digest == wanted
    chain = open_chain(fixture)
    assert chain.head.hash == fixture.blocks[-1].block.hash
    assert (FOLDER / f"{name}.json").stat().st_size < MAX_FILE_BYTES


@pytest.mark.sample(count=len(COMPUTED_AGAIN), seed=0)
def test_shipped_chains_are_computed_again_byte_for_byte(llama: LlamaModel, sample: Sample) -> None:
    """`make evidence` computes all chains again; a replay without a model checks the rest here."""
    names = [*COMPUTED_AGAIN, *(name for name in SCENARIOS if name not in COMPUTED_AGAIN)]
    generations = 0
    for name in names[: sample.count]:
        fixture = shipped(name)
        blocks = list(Replay(fixture, {DEFAULT_MODEL_NAME: llama}).execute_blocks())
        assert sum(block.steps for block in blocks) == len(fixture.steps) > 0, name
        generations += len(fixture.steps)
    sample.figures.update({"chains": sample.count, "generations": generations})


def test_the_wallets_runs_succeed_and_use_tools() -> None:
    fixture = shipped("wallet")
    assert all(t.is_success for block in fixture.blocks for t in block.transactions)
    assert len(fixture.steps) > len(fixture.blocks)


def test_the_nested_agent_speaks_between_the_outer_ones_words() -> None:
    fixture = shipped("nested")
    prompts = ["".join(s.text for s in step.exchange.segments) for step in fixture.steps]
    is_outer = ["You ask other agents" in prompt for prompt in prompts]
    assert is_outer[0]
    assert is_outer[-1]
    assert not all(is_outer)


def test_the_wallets_runs_by_callback_have_the_same_steps() -> None:
    embedded, callback = shipped("wallet"), shipped("callback")
    assert all(t.is_success for block in callback.blocks for t in block.transactions)
    steps = [(step.exchange.segments, step.exchange.generation) for step in embedded.steps]
    assert [(step.exchange.segments, step.exchange.generation) for step in callback.steps] == steps


def test_the_swap_agent_executes_the_requests_of_the_design() -> None:
    fixture = shipped("swap")
    assert get_chain_metadata(fixture.config.chain_id).native_symbol == "BNB"
    done = [all(each.is_success for each in block.transactions) for block in fixture.blocks]
    # A function that only its owner may call is declined, and the run undone.
    assert done == [name != "admin" for name in REQUESTS]
    prompts = [
        "".join(segment.text for segment in step.exchange.segments)
        for step in fixture.steps
        if step.step == 0
    ]
    assert len(prompts) == len(fixture.blocks) == len(REQUESTS)
    for text, prompt in zip(REQUESTS.values(), prompts, strict=True):
        assert text.replace("TOKEN", "USDT").replace("NATIVE", "BNB") in prompt


def test_the_trading_agent_decides_on_posts_until_a_run_is_undone() -> None:
    fixture = shipped("trading")
    posts = read_posts().posts[:RECORDED_POST_COUNT]
    decisions = [block.transactions[0] for block in fixture.blocks[1::2]]
    assert [t.is_success for t in decisions] == [post.do_pools_follow for post in posts]
    first = [
        "".join(segment.text for segment in step.exchange.segments)
        for step in fixture.steps
        if step.step == 0
    ]
    assert len(first) == len(posts)
    for post, prompt in zip(posts, first, strict=True):
        assert post.text in prompt
    digests = {profile.name: profile.digest for profile in fixture.config.numeric_models}
    assert digests == {name: model.digest for name, model in open_trading_models().items()}


def test_the_lending_pools_agent_decides_by_the_criteria_of_the_day() -> None:
    fixture = shipped("loan")
    assert all(t.is_success for block in fixture.blocks for t in block.transactions)
    prompts = ["".join(s.text for s in step.exchange.segments) for step in fixture.steps]
    criteria = [read_applications().criteria[name].text for name in (BEFORE, AFTER)]
    # The first "Question: " of a prompt describes the format.
    questions = [prompt.rpartition("\nQuestion: ")[2] for prompt in prompts]
    asked = [[text.startswith(each + "<|im_end|>") for text in questions] for each in criteria]
    assert [any(each) for each in asked] == [True, True]
    assert max(i for i, is_it in enumerate(asked[0]) if is_it) < asked[1].index(True)
    for application in read_applications().story:
        assert any(application.text in text for text in questions)
    assert questions[-1].startswith("Read the criteria")


def test_a_council_answers_two_questions_and_holds_nothing_in_the_end() -> None:
    fixture = shipped("council")
    reverted = [t for block in fixture.blocks for t in block.transactions if not t.is_success]
    assert len(reverted) == 1  # who staked on the other answer claims
    prompts = ["".join(s.text for s in step.exchange.segments) for step in fixture.steps]
    asked = [prompt.rpartition("\nQuestion: ")[2] for prompt in prompts]
    assert sum(text.startswith(MARKET_QUESTION) for text in asked) == 6  # two steps of each agent
    judged = [text for text in asked if '1. "7", 2. "61", 3. "61", 4. "61"' in text]
    assert len(judged) == 1 + 3 * 2  # the first judge has no tool; a panel of three uses one
    stakes = [b.balance_wei for b in fixture.post.values() if b.code]
    assert stakes
    assert not any(stakes)  # neither the oracle nor the market, nor an agent


def test_after_the_rollback_only_the_senders_account_differs() -> None:
    fixture = shipped("rollback")
    assert [t.is_success for block in fixture.blocks for t in block.transactions] == [False]
    changed = {a for a in fixture.post if fixture.post[a] != fixture.pre.get(a)}
    sender = fixture.blocks[0].transactions[0].sender
    assert changed <= {sender, fixture.blocks[0].block.header.coinbase}


def test_the_gas_ends_in_the_last_step() -> None:
    fixture = shipped("out-of-gas")
    assert [t.is_success for block in fixture.blocks for t in block.transactions] == [False]
    assert len(fixture.steps) > 1
    assert all(s.exchange.generation and s.exchange.generation.is_complete for s in fixture.steps)
    chain = Replay(fixture).finish()
    (transaction,) = fixture.blocks[-1].transactions
    trace = chain.find_agent_trace(transaction.hash)
    assert trace is not None
    assert trace.failure is not None
    assert "out of gas" in trace.failure.explain(BUNDLED).lower()


def test_a_model_that_does_something_else_is_not_recorded(vocabulary: Vocabulary) -> None:
    model = ScriptedModel(lambda _: answer("I would rather not."), vocabulary=vocabulary)
    facts = vocabulary.profile_facts
    for name in ("nested", "rollback", "out-of-gas"):
        with pytest.raises(FixtureError, match="not the scenario: "):
            record_scenario(name, model, facts, source="")
    assert len(record_scenario("wallet", model, facts, source="Scripted.").steps) == 2
    with pytest.raises(ConfigError, match="scenario 'other': must be one of wallet, nested"):
        record_scenario("other", model, facts, source="")


@pytest.mark.slow
def test_a_swap_agent_that_does_something_else_is_not_recorded(vocabulary: Vocabulary) -> None:
    model = ScriptedModel(lambda _: answer("I would rather not."), vocabulary=vocabulary)
    with pytest.raises(FixtureError, match=r"not the scenario: .* is not the ideal: expected call"):
        record_scenario("swap", model, vocabulary.profile_facts, source="", scenarios=SCENARIOS)


def test_a_scenario_is_recorded_under_a_schedule(vocabulary: Vocabulary) -> None:
    model = ScriptedModel(lambda _: answer("I would rather not."), vocabulary=vocabulary)
    facts = vocabulary.profile_facts
    schedule = ScheduleFile(schedule={"tool_gas": 41}, models={"*": {"output_token_gas": 29}})
    plain, priced = (
        record_scenario("wallet", model, facts, source="Scripted.", schedule=one)
        for one in (None, schedule)
    )
    assert priced.config == schedule.apply_to(plain.config)
    used = [one.blocks[0].block.header.gas_used for one in (plain, priced)]
    assert used[1] < used[0]
    Replay(priced).finish()


DEAR = ScheduleFile(schedule={}, models={"*": {"cold_prompt_token_gas": 600_000}})


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in SCENARIOS]
)
def test_a_scenario_without_the_gas_for_it_says_so(name: str, vocabulary: Vocabulary) -> None:
    model = ScriptedModel(lambda _: answer("I would rather not."), vocabulary=vocabulary)
    facts = vocabulary.profile_facts
    with pytest.raises(
        FixtureError, match=r"(ran out of gas: it had|ExecutorHalted).* or more gas"
    ):
        record_scenario(name, model, facts, source="", scenarios=SCENARIOS, schedule=DEAR)


def test_a_dear_scenario_is_recorded_with_more_gas(vocabulary: Vocabulary) -> None:
    model = ScriptedModel(lambda _: answer("I would rather not."), vocabulary=vocabulary)
    facts = vocabulary.profile_facts
    rich = record_scenario(
        "wallet", model, facts, source="Scripted.", schedule=DEAR, block_gas_limit=10**9
    )
    assert rich.config.block_gas_limit == 10**9
    Replay(rich).finish()
