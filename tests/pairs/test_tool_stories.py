"""Stories of numeric models, passages and nested agents with each other and with what runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from precompiles.outcome import is_done
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.rpc.errors import RpcError
from tests.numeric_file import build_numeric_file
from tests.pairs.capabilities import Capability, story
from tests.pairs.world import (
    ASKED,
    BOND,
    COUNT,
    COUNTED,
    FLOODED,
    FOUND,
    GAS,
    OPTIONS,
    PASSAGES,
    PAYEE,
    RATED,
    RUN,
    SCORE,
    YES,
    pay_by_score,
)

if TYPE_CHECKING:
    from web3.contract import Contract

    from tests.pairs.world import World, Worlds

NUMERIC, RETRIEVAL, NESTED = Capability.NUMERIC, Capability.RETRIEVAL, Capability.NESTED
RATED_BY_NAME = "Ask Assessor to rate the loan with income 20 and debt 5"
ASKED_BY_NAME = "Ask Librarian what the fee of the blue pool is"


def deploy_assessor(world: World) -> Contract:
    """Deploy an agent with a numeric model, for other agents."""
    return world.agent(world.rater(), name="Assessor", says="Rates loans")


def deploy_librarian(world: World) -> Contract:
    """Deploy an agent with a search, for other agents."""
    return world.agent(world.search(), name="Librarian", says="Looks up the handbook")


# -- with each other -- #


@story(
    NUMERIC,
    RETRIEVAL,
    "One request can look something up and have a number computed; the passage's numbers are "
    "not taken for the order's.",
)
def test_a_passage_and_a_score(world: World) -> None:
    base = world.handbook("Bob has 90 sheep.", "Ann has 4 cows.")
    agent = world.agent(world.search(base), world.rater())
    used = world.observe(agent, f"Look up the sheep of Bob, then {RATED[0].lower()}{RATED[1:]}")
    assert [action for _, action, _ in used] == ["look_up", "rate_loan"]
    assert "Bob has 90 sheep." in (used[0][2] or "")
    assert used[1][2] == SCORE


@story(
    NUMERIC,
    NESTED,
    "An inner agent has a numeric model as its tool: the outer one asks it by its name.",
)
def test_a_numeric_model_of_an_inner_agent(world: World) -> None:
    outer = world.agent(deploy_assessor(world))
    assert world.instruct(outer, RATED_BY_NAME) == f"Done. Assessor: Done. rate_loan: {SCORE}"


@story(
    RETRIEVAL,
    NESTED,
    "An inner agent answers from passages: the outer one asks it by its name, and its question "
    "reaches the search.",
)
@pytest.mark.parametrize(
    "prompt", [ASKED_BY_NAME, "Ask Librarian to look up the fee of the blue pool"]
)
def test_passages_of_an_inner_agent(world: World, prompt: str) -> None:
    assert FOUND in world.instruct(world.agent(deploy_librarian(world)), prompt)


@pytest.mark.parametrize(
    ("request_text", "prompts"),
    [
        (RATED_BY_NAME, [("Assessor", f"{RATED[0].lower()}{RATED[1:]}")]),
        (ASKED_BY_NAME, [("Librarian", "what the fee of the blue pool is")]),
        (f"Ask Librarian: {ASKED}", [("Librarian", ASKED[:-1])]),
        ("Counter, add 7", [("Counter", "add 7")]),
        ("Get Counter to add 7", [("Counter", "add 7")]),
        (
            f"{ASKED_BY_NAME}, then ask Counter to add 7",
            [("Librarian", "what the fee of the blue pool is"), ("Counter", "add 7")],
        ),
        ("Add 7", [("Counter", "Add 7")]),
        (ASKED, []),
    ],
)
def test_an_inner_agent_gets_the_whole_order(
    world: World, request_text: str, prompts: list[tuple[str, str]]
) -> None:
    counter = world.agent(world.deploy("CounterTool"), name="Counter", says="Adds to the counter")
    outer = world.agent(deploy_assessor(world), deploy_librarian(world), counter)
    receipt = world.chain.ask(outer, request_text, gas=GAS)
    assert receipt["status"] == 1
    uses = [each for each in world.chain.steps(receipt) if each.depth == 0 and each.action]
    told = [(each.action, json.loads(each.action_input or "")["prompt"]) for each in uses]
    assert told == prompts


@pytest.mark.parametrize("request_text", [ASKED, "Ask Bursar to pay Ann 5", "Who keeps the keys?"])
def test_who_names_no_inner_agent_is_told_them(world: World, request_text: str) -> None:
    outer = world.agent(deploy_assessor(world), deploy_librarian(world))
    answer = world.instruct(outer, request_text)
    assert not is_done(answer)
    assert answer.endswith(' To ask an agent, begin with "Ask Assessor:" or "Ask Librarian:".')


def test_agents_three_deep(world: World) -> None:
    agent = world.agent(world.deploy("CounterTool"), name="Counter", says="Adds to the counter")
    for name in ("Foreman", "Boss"):
        agent = world.agent(agent, name=name, says="Passes orders on")
    used = world.observe(agent, "Ask Foreman to ask Counter to add 7 to the counter")
    assert [(depth, action) for depth, action, _ in used] == [
        (0, "Foreman"),
        (1, "Counter"),
        (2, "CounterTool"),
    ]
    assert used[-1][2] == COUNT


# -- in runs and treasuries -- #


@story(
    NUMERIC,
    Capability.RUNS,
    "A use of a numeric model is a step of a run.",
)
def test_a_run_with_a_numeric_model(world: World) -> None:
    run = world.run(RATED, world.agent(world.rater()))
    assert (run.failure, run.results) == (None, (SCORE, f"Done. rate_loan: {SCORE}"))


@story(
    RETRIEVAL,
    Capability.RUNS,
    "A question can be the goal of a run: the search is a step, and the passage the answer.",
)
def test_a_run_that_looks_something_up(world: World) -> None:
    run = world.run(ASKED, world.agent(world.search()))
    assert run.failure is None
    assert all(FOUND in (result or "") for result in run.results)


@story(
    NESTED,
    Capability.RUNS,
    "The uses of inner agents' tools are steps of the plan, and count as tool calls.",
)
def test_a_run_of_an_outer_agent(world: World) -> None:
    outer = world.agent(deploy_assessor(world))
    run = world.run(RATED_BY_NAME, outer)
    assert run.failure is None
    assert SCORE in run.results
    assert run.results[-1] == f"Done. Assessor: Done. rate_loan: {SCORE}"


@story(
    NUMERIC,
    Capability.TREASURIES,
    "A step of a run reads a score and pays from the treasury if it is high enough; the "
    "treasury's cap holds all the same.",
)
def test_a_treasury_pays_by_a_score(world: World) -> None:
    treasury = world.treasury(PAYEE)
    for income, paid in ((30, 900), (5, 0)):
        run = world.run("Pay", pay_by_score(income, PAYEE, 900), treasury)
        assert (run.failure is None) == bool(paid)
    assert world.w3.eth.get_balance(PAYEE) == 900


@story(
    RETRIEVAL,
    Capability.TREASURIES,
    "An agent of a treasury looks up an invoice and pays it, if the request has the amount: a "
    "number in a passage is a quotation, and `pay it` is not done.",
)
def test_a_treasury_pays_after_a_look_up(world: World) -> None:
    treasury = world.treasury()
    base = world.handbook("Invoice of the baker: 40 wei.", "Invoice of the plumber: 900 wei.")
    token, agent = world.payer(treasury, PAYEE, world.search(base))
    look_up = "Look up the invoice of the plumber, then pay"
    run = world.run(f"{look_up} it to Plumber", agent, treasury)
    assert (run.not_done or "").startswith("I can't do that: I need to know amount")
    run = world.run(f"{look_up} 900 to Plumber", agent, treasury)
    assert run.failure is None
    assert world.read(token, "balanceOf", PAYEE) == 900


@story(
    NESTED,
    Capability.TREASURIES,
    "A treasury that may run an outer agent needs no rule for the inner ones, which the outer "
    "agent calls.",
)
def test_a_treasury_runs_an_outer_agent(world: World) -> None:
    counter = world.deploy("CounterTool")
    inner = world.agent(counter, name="Counter", says="Adds to the counter")
    outer, treasury = world.agent(inner), world.treasury()
    world.allow(treasury, outer, RUN)
    run = world.run("Ask Counter to add 7 to the counter", outer, treasury)
    assert run.failure is None
    assert world.read(counter, "number") == 7


# -- in councils -- #


@story(
    NUMERIC,
    Capability.COUNCILS,
    "An info agent's answer is the sentence of its tool, such as `Score: 61`.",
)
def test_a_council_of_a_numeric_model(world: World) -> None:
    council = world.council()
    member = world.member(council, world.rater())
    assert world.answer(council, member, world.put(council, RATED)) == SCORE


@story(
    RETRIEVAL,
    Capability.COUNCILS,
    "An info agent answers an open question with a passage, and one with options by the only "
    "option that the passages name. If they name none, several, or deny something, it is refused "
    "before the bond is paid (`AnswerRefused`).",
)
def test_a_council_that_reads(world: World) -> None:
    council = world.council()
    reader = world.member(council, world.search())
    assert FOUND in world.answer(council, reader, world.put(council, ASKED))
    named = world.put(council, "What became of the mill bridge?", "OPTIONS: flooded|dry")
    assert world.answer(council, reader, named) == "flooded"
    number = world.put(council, FLOODED, OPTIONS)  # No passage says yes or no.
    with pytest.raises(RpcError, match="AnswerRefused"):
        world.send(reader, "join", number, 7, value=BOND)
    assert world.answer(council, world.member(council, world.record()), number) == "yes"


@story(
    NESTED,
    Capability.COUNCILS,
    "An info agent's tool can be another agent; the question names it.",
)
def test_a_member_of_a_council_asks_another_agent(world: World) -> None:
    council = world.council()
    member = world.member(council, deploy_librarian(world))
    assert FOUND in world.answer(council, member, world.put(council, ASKED_BY_NAME))


# -- in versions -- #


@story(
    NUMERIC,
    Capability.VERSIONS,
    "A new numeric model comes with a new version of the agent: a tool is pinned to its file.",
)
def test_a_version_with_another_numeric_model(worlds: Worlds) -> None:
    models = {
        name: NumericFile(build_numeric_file(factor))
        for name, factor in (("score", 3), ("better", 4))
    }
    world = worlds.agents(numeric_models=models)
    wallet = world.account()
    scores = []
    for version, model in enumerate(models, 1):
        wallet.publish(world.rater(model=model), name=f"Wallet {version}")
        wallet.adopt(version)
        scores.append(world.observe_last(wallet.instruct(RATED)))
    assert scores == [SCORE, "Score: 81"]


@story(
    RETRIEVAL,
    Capability.VERSIONS,
    "Passages change without a new version, since the tool stays the same; a version can have a "
    "search that the one before has not.",
)
def test_passages_change_without_a_version(world: World) -> None:
    base, wallet = world.handbook(), world.account()
    for version, tools in enumerate(((), (world.search(base),)), 1):
        wallet.publish(*tools, name=f"Wallet {version}")
    wallet.adopt(1)
    with pytest.raises(RpcError, match="NotDone"):
        wallet.instruct(ASKED)
    wallet.adopt(2)
    found = [world.observe_last(wallet.instruct(ASKED))]
    world.send(base, "replace", [1], ["The fee of the blue pool is 20 percent."], YES)
    found.append(world.observe_last(wallet.instruct(ASKED)))
    assert [("35" in text, "20" in text) for text in found] == [(True, False), (False, True)]


@story(
    NESTED,
    Capability.VERSIONS,
    "A version's tools can be agents that anybody may run: a wallet's agent asks them, and acts "
    "itself.",
)
def test_a_version_that_asks_another_agent(world: World) -> None:
    wallet = world.account()
    wallet.publish(deploy_librarian(world))
    wallet.adopt(1)
    wallet.instruct(f"{ASKED_BY_NAME}, then deposit 10 USDC")
    assert wallet.deposited == 10


# -- on forks -- #


@story(
    NUMERIC,
    Capability.FORKS,
    "A fork of a chain with numeric models needs the same models: without them its tools revert "
    "with `ModelsUnavailable`.",
)
def test_a_fork_with_numeric_models(worlds: Worlds) -> None:
    origin = worlds.agents()
    agent = origin.agent(origin.rater())
    fork = worlds.fork(origin)
    assert (
        fork.instruct(fork.at("SimpleAgent", agent.address), RATED) == f"Done. rate_loan: {SCORE}"
    )
    bare = worlds.fork(origin, has_numeric_models=False)
    assert "ModelsUnavailable" in bare.refusal(bare.at("SimpleAgent", agent.address), RATED)


@story(
    RETRIEVAL,
    Capability.FORKS,
    "A search on a fork reads the live chain's passages, and those that are added on the fork.",
)
def test_a_fork_reads_passages_of_the_live_chain(worlds: Worlds) -> None:
    origin = worlds.plain()
    base = origin.handbook()
    fork = worlds.fork(origin)
    added = fork.at("KnowledgeBase", base.address)
    fork.send(added, "add", ["The moat has 4 ducks."], YES)
    agent = fork.agent(fork.search(added))
    assert FOUND in fork.instruct(agent, ASKED)
    assert "4 ducks" in fork.instruct(agent, "Look up the ducks of the moat")
    assert origin.read(base, "statistics")[0] == len(PASSAGES)


@story(
    NESTED,
    Capability.FORKS,
    "A new outer agent on a fork can ask an agent of the live chain.",
)
def test_a_fork_with_an_inner_agent_of_the_live_chain(worlds: Worlds) -> None:
    origin = worlds.agents()
    counter = origin.deploy("CounterTool")
    inner = origin.agent(counter, name="Counter", says="Adds to the counter")
    fork = worlds.fork(origin)
    said = fork.instruct(fork.agent(inner), "Ask Counter to add 7 to the counter")
    assert said == f"Done. Counter: Done. CounterTool: {COUNT}"
    assert origin.instruct(inner, COUNTED) == f"Done. CounterTool: {COUNT}"
