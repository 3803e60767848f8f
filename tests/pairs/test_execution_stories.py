"""Stories of embedded and callback execution with everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.control.deployed_agents import read_deployed_manifest
from pyevm_agents.control.plane_config import DeployedAgent
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from tests.pairs.capabilities import Capability, story
from tests.pairs.world import (
    ASKED,
    COUNT,
    COUNTED,
    ETHER,
    EXECUTOR,
    FLOODED,
    FOUND,
    NOBODY,
    OPTIONS,
    RATED,
    RUN,
    SCORE,
    call,
    canonical,
)

if TYPE_CHECKING:
    from tests.pairs.world import World, Worlds

EMBEDDED, CALLBACK = Capability.EMBEDDED, Capability.CALLBACK


@story(
    EMBEDDED,
    CALLBACK,
    "The same tools and the same order give the same answer, on a chain with `0x19` and on one "
    "without.",
)
def test_both_executions_answer_alike(worlds: Worlds) -> None:
    answers = []
    for world in (worlds.agents(), worlds.plain()):
        counter = world.deploy("CounterTool")
        if world.kit is None:
            answers.append(world.ask(world.callback_agent(counter), COUNTED))
        else:
            answers.append(world.instruct(world.agent(counter), COUNTED))
        assert world.read(counter, "number") == 7
    assert answers == [f"Done. CounterTool: {COUNT}"] * 2


@story(
    EMBEDDED,
    Capability.NUMERIC,
    "A numeric model is a tool of an agent (`ModelTool`): the agent's answer has the model's "
    "number.",
)
def test_an_agent_uses_a_numeric_model(world: World) -> None:
    assert world.instruct(world.agent(world.rater()), RATED) == f"Done. rate_loan: {SCORE}"


@story(
    EMBEDDED,
    Capability.RETRIEVAL,
    "A question or an order to look something up is answered with the passage.",
)
@pytest.mark.parametrize("prompt", [ASKED, "Look up the fee of the blue pool"])
def test_an_agent_answers_from_passages(world: World, prompt: str) -> None:
    assert FOUND in world.instruct(world.agent(world.search()), prompt)


@story(
    EMBEDDED,
    Capability.NESTED,
    "An agent is a tool of another one; both run in one transaction, and what the inner one "
    "changes stands with it.",
)
def test_an_agent_asks_an_agent(world: World) -> None:
    counter = world.deploy("CounterTool")
    inner = world.agent(counter, name="Counter", says="Adds to the counter")
    used = world.observe(world.agent(inner), "Ask Counter to add 7 to the counter")
    assert used == [(0, "Counter", f"Done. CounterTool: {COUNT}"), (1, "CounterTool", COUNT)]


@story(
    EMBEDDED,
    Capability.RUNS,
    "A deployed agent plans a run by itself: each use of a tool is a step, then its answer.",
)
def test_a_run_takes_an_agent_through_its_phases(world: World) -> None:
    counter = world.deploy("CounterTool")
    run = world.run(COUNTED, world.agent(counter))
    assert (run.failure, run.results) == (None, (COUNT, f"Done. CounterTool: {COUNT}"))
    assert world.read(counter, "number") == 7


@story(
    EMBEDDED,
    Capability.COUNCILS,
    "A `CouncilInfoAgent` runs in the transaction that commits to its answer.",
)
def test_an_agent_sits_in_a_council(world: World) -> None:
    council = world.council()
    member = world.member(council, world.deploy("CounterTool"))
    assert world.answer(council, member, world.put(council, COUNTED)) == COUNT


@story(
    EMBEDDED,
    Capability.VERSIONS,
    "A wallet adopts another version of its agent, which runs in the transaction of `instruct`; "
    "its deposits stay.",
)
def test_a_wallet_goes_to_the_next_version_of_its_agent(world: World) -> None:
    wallet = world.account()
    for version in (1, 2):
        wallet.publish(name=f"Wallet {version}")
        wallet.adopt(version)
        wallet.instruct("Deposit 10 USDC")
    assert wallet.deposited == 20
    world.send(wallet.account, "goBack")
    wallet.instruct("Deposit 5 USDC")
    assert wallet.deposited == 25


@story(
    EMBEDDED,
    Capability.TREASURIES,
    "An agent whose owner is a treasury runs for its runs alone: allow its function `run`.",
)
def test_a_treasury_is_the_owner_of_an_agent(world: World) -> None:
    counter = world.deploy("CounterTool")
    treasury = world.treasury()
    texts = ("Clerk", "Counts", "what to do", "You count.")
    arguments = (EXECUTOR, "default", *texts, [counter.address], 6)
    agent = world.deploy("OwnedAgent", treasury.address, *arguments)
    world.allow(treasury, agent, RUN)
    assert "OwnableUnauthorizedAccount" in world.refusal(agent, COUNTED)
    assert "OwnableUnauthorizedAccount" in (world.run(COUNTED, agent).failure or "")
    assert world.run(COUNTED, agent, treasury).failure is None
    assert world.read(counter, "number") == 7


@story(
    EMBEDDED,
    Capability.FORKS,
    "On a fork of any EVM chain an agent uses the live chain's contracts, which stay as they "
    "are there.",
)
def test_an_agent_runs_on_a_fork(worlds: Worlds) -> None:
    origin = worlds.plain()
    counter = origin.deploy("CounterTool")
    fork = worlds.fork(origin)
    assert fork.instruct(fork.agent(counter), COUNTED) == f"Done. CounterTool: {COUNT}"
    assert (
        fork.read(fork.at("CounterTool", counter.address), "number"),
        origin.read(counter, "number"),
    ) == (7, 0)


@story(
    CALLBACK,
    Capability.NUMERIC,
    "On a chain with `0x1a` a callback agent has numeric models as tools; on another chain "
    "`ModelTool` can't be deployed, and [a contract](models.md#convert-a-model) has the model "
    "instead.",
)
def test_a_numeric_model_by_callback(worlds: Worlds) -> None:
    world = worlds.agents()
    assert world.ask(world.callback_agent(world.rater()), RATED) == f"Done. rate_loan: {SCORE}"
    with pytest.raises(AgentsError, match="revert"):
        worlds.plain().rater()


@story(
    CALLBACK,
    Capability.RETRIEVAL,
    "A base of passages works on any chain: the worker's model reads what the search finds there.",
)
def test_passages_by_callback(worlds: Worlds) -> None:
    world = worlds.plain()
    assert FOUND in world.ask(world.callback_agent(world.search()), ASKED)


@story(
    CALLBACK,
    Capability.NESTED,
    "A callback agent waits for another one that is its tool; an agent that runs in one "
    "transaction refuses it.",
)
def test_agents_by_callback_ask_each_other(worlds: Worlds) -> None:
    world = worlds.plain()
    counter = world.deploy("CounterTool")
    inner = world.callback_agent(counter, name="Counter", says="Adds to the counter")
    outer = world.callback_agent(inner)
    world.subscribe(inner, outer.address)
    said = world.ask(outer, "Ask Counter to add 7 to the counter")
    assert said == f"Done. Counter: Done. CounterTool: {COUNT}"
    world = worlds.agents()
    inner = world.callback_agent(
        world.deploy("CounterTool"), name="Counter", says="Adds to the counter"
    )
    outer = world.agent(inner)
    world.subscribe(inner, outer.address)
    said = world.refusal(outer, "Ask Counter to add 7 to the counter")
    assert "AsynchronousToolUnsupported" in said


@story(
    CALLBACK,
    Capability.RUNS,
    "A callback agent drives no run, which is one block: `run --agent` refuses its address; a "
    "step of a run can ask it, and does not wait for the answer.",
)
def test_a_callback_agent_drives_no_run(world: World) -> None:
    agent = world.callback_agent(world.deploy("CounterTool"))
    port = LocalChainPort(world.chain.chain, DEVELOPMENT_KEY)
    with pytest.raises(ConfigError, match="whose model runs in the same transaction"):
        read_deployed_manifest(DeployedAgent(slug="counter", address=canonical(agent)), port)
    cost = world.read(agent, "costOfRun")
    run = world.run("Ask", call(agent, "ask", COUNTED, NOBODY, value=cost))
    assert run.failure is None
    for receipt in world.list_receipts():
        world.work(receipt)
    assert world.read(agent, "resultOf", 1) == f"Done. CounterTool: {COUNT}"


@story(
    CALLBACK,
    Capability.COUNCILS,
    "A council works on any EVM chain: `council join --agent` runs an agent that is a contract "
    "on a fork with the model. It takes no callback agent.",
)
def test_a_council_without_the_precompile(worlds: Worlds) -> None:
    world = worlds.plain()
    council = world.council()
    number, record = world.put(council, FLOODED, OPTIONS), world.record()
    agents = world.agent(record), world.callback_agent(record)
    answer, refused = (world.off_chain(council, agent) for agent in agents)
    said = answer.answer(world.request_of(council, number))
    assert said == b"yes"
    with pytest.raises(ConfigError, match=r"not an IERCAgent|agentExecutorContract"):
        refused.require_agent()
    world.vote(council, number, said)
    assert world.read(council, "getResolution", number) == [said, True]


@story(
    CALLBACK,
    Capability.VERSIONS,
    "A run by callback that is open when the next version is adopted ends on the version that "
    "started it.",
)
def test_a_run_by_callback_ends_on_its_version(worlds: Worlds) -> None:
    world = worlds.plain()
    wallet = world.account()
    for number in (1, 2):
        agent = world.callback_agent(
            wallet.tool,
            kind="OwnedCallbackAgent",
            name=f"Wallet {number}",
            prompt=wallet.prompt,
        )
        world.subscribe(agent, wallet.account.address)
        world.send(wallet.versions, "publish", agent.address)
    wallet.adopt(1)
    first = wallet.instruct("Deposit 10 USDC")
    wallet.adopt(2)
    world.work(wallet.instruct("Deposit 5 USDC"))
    assert wallet.deposited == 5
    world.work(first)
    assert wallet.deposited == 15


@story(
    CALLBACK,
    Capability.TREASURIES,
    "A treasury pays the fee of a callback agent's run; the answer comes in later transactions.",
)
def test_a_treasury_pays_a_callback_agent(world: World) -> None:
    agent = world.callback_agent(world.deploy("CounterTool"))
    treasury = world.treasury()
    world.allow(treasury, agent, "ask(string,address)")
    cost = world.read(agent, "costOfRun")
    run = world.run("Ask", call(agent, "ask", COUNTED, NOBODY, value=cost), treasury)
    assert run.failure is None
    assert world.w3.eth.get_balance(treasury.address) == ETHER - cost
    for receipt in world.list_receipts():
        world.work(receipt)
    assert world.read(agent, "resultOf", 1) == f"Done. CounterTool: {COUNT}"


@story(
    CALLBACK,
    Capability.FORKS,
    "A worker whose node is a fork answers the requests made there; the live chain sees none.",
)
def test_a_worker_answers_on_a_fork(worlds: Worlds) -> None:
    origin = worlds.plain()
    counter = origin.deploy("CounterTool")
    agent = origin.callback_agent(counter)
    fork = worlds.fork(origin)
    fork.oracle = fork.at("AgentOracle", origin.oracle.address)
    assert (
        fork.ask(fork.at("SimpleCallbackAgent", agent.address), COUNTED)
        == f"Done. CounterTool: {COUNT}"
    )
    assert origin.read(counter, "number") == 0
