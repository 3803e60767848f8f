"""Stories of runs, councils, versions, treasuries and forks with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pairs.capabilities import Capability, story
from tests.pairs.world import (
    ASKED,
    COUNT,
    COUNTED,
    ETHER,
    FOUND,
    NOBODY,
    PAYEE,
    REWARD,
    YES,
    call,
    read,
    transfer,
)

if TYPE_CHECKING:
    from tests.pairs.world import World, Worlds

RUNS, COUNCILS, VERSIONS = Capability.RUNS, Capability.COUNCILS, Capability.VERSIONS
TREASURIES, FORKS = Capability.TREASURIES, Capability.FORKS
CREATE = "createRequest(string,uint256,uint256,uint256,address,string,(string[],string[]))"


@story(
    RUNS,
    COUNCILS,
    "A step of a run asks a council and pays the reward; the council answers after the run, and "
    "a later run reads it.",
)
def test_a_run_asks_a_council(world: World) -> None:
    council = world.council()
    question = world.question("Is 7 a prime?", "OPTIONS: yes|no")
    run = world.run("Ask", call(council, "createRequest", *question, value=REWARD))
    assert run.failure is None
    world.vote(council, 1, b"yes")
    run = world.run("Read", read(council, "getResolution", 1))
    assert run.results == ("(b'yes', True)",)


@story(
    RUNS,
    VERSIONS,
    "A step of a run instructs a wallet, which runs the version that was adopted; the version "
    "itself drives no run, since it works for its wallet alone.",
)
def test_a_run_instructs_a_wallet(world: World) -> None:
    wallet = world.account()
    agent = wallet.publish()
    wallet.adopt(1)
    run = world.run("Deposit", call(wallet.account, "instruct", "Deposit 10 USDC"))
    assert (run.failure, wallet.deposited) == (None, 10)
    run = world.run("Deposit 10 USDC", agent)
    assert "OwnableUnauthorizedAccount" in (run.failure or "")
    assert wallet.deposited == 10


@story(
    RUNS,
    TREASURIES,
    "A treasury pays a run's writes up to the task's cap; a run above it spends nothing.",
)
def test_a_treasury_bounds_a_run(world: World) -> None:
    treasury = world.treasury(PAYEE)
    for wei, paid in ((1_000, 1_000), (ETHER // 10 + 1, 1_000)):
        run = world.run("Pay", transfer(PAYEE, wei), treasury)
        assert (run.failure is None) == (wei == 1_000)
        assert world.w3.eth.get_balance(PAYEE) == paid


@story(
    RUNS,
    FORKS,
    "A run on a fork of a live chain has the nine phases; its block is the fork's alone.",
)
def test_a_run_on_a_fork(worlds: Worlds) -> None:
    origin = worlds.plain()
    counter = origin.deploy("CounterTool")
    fork = worlds.fork(origin)
    run = fork.run(COUNTED, fork.agent(counter))
    assert (run.failure, run.results[0]) == (None, COUNT)
    assert origin.read(counter, "number") == 0


@story(
    COUNCILS,
    VERSIONS,
    "Who takes part from off the chain asks the version that it adopted, by `council join "
    "--agent`; a published one stays what it was.",
)
def test_a_member_follows_the_version_that_it_adopted(worlds: Worlds) -> None:
    world = worlds.agents()
    council, versions = world.council(), world.deploy("AgentVersions", world.me)
    answers = []
    for version, text in enumerate(("The fee is 35 percent.", "The fee is 20 percent."), 1):
        agent = world.agent(world.search(world.handbook(text)), name=f"Ada {version}")
        world.send(versions, "publish", agent.address)
        world.send(versions, "adopt", version)
        _, adopted = world.read(versions, "versionOf", world.me)
        source = world.off_chain(council, world.at("SimpleAgent", adopted))
        number = world.put(council, "What is the fee?")
        answers.append(source.answer(world.request_of(council, number)).decode())
    assert [("35" in text, "20" in text) for text in answers] == [(True, False), (False, True)]


@story(
    COUNCILS,
    TREASURIES,
    "A treasury pays a council's reward. If the council fails, everybody may send the refund "
    "back to it (`withdrawFor`).",
)
def test_a_treasury_pays_a_council(world: World) -> None:
    council, treasury = world.council(), world.treasury()
    world.allow(treasury, council, CREATE)
    act = call(council, "createRequest", *world.question("Is 7 a prime?"), value=REWARD)
    assert world.run("Ask", act, treasury).failure is None
    assert world.w3.eth.get_balance(treasury.address) == ETHER - REWARD
    world.pass_time(601)
    world.send(council, "advance", 1)
    world.send(council, "withdrawFor", NOBODY, treasury.address)
    assert world.w3.eth.get_balance(treasury.address) == ETHER


@story(
    COUNCILS,
    FORKS,
    "A fork continues a council of the live chain: answers and payments there change nothing on "
    "the live chain.",
)
def test_a_council_goes_on_on_a_fork(worlds: Worlds) -> None:
    origin = worlds.plain()
    council = origin.council()
    number = origin.put(council, ASKED)
    fork = worlds.fork(origin)
    there = fork.at("AgentCouncilOracle", council.address)
    member = fork.member(there, fork.search())
    assert FOUND in fork.answer(there, member, number)
    assert origin.read(council, "getReveals", number)[1] == []


@story(
    VERSIONS,
    TREASURIES,
    "A treasury is a caller of a wallet like others: the wallet's owner allows it, the "
    "treasury's owner the function `instruct`.",
)
def test_a_treasury_instructs_a_wallet(world: World) -> None:
    wallet, treasury = world.account(), world.treasury()
    wallet.publish()
    wallet.adopt(1)
    world.allow(treasury, wallet.account, "instruct(string)")
    act = call(wallet.account, "instruct", "Deposit 10 USDC")
    assert "CallerNotAllowed" in (world.run("Deposit", act, treasury).failure or "")
    world.send(wallet.account, "setCaller", treasury.address, YES)
    assert world.run("Deposit", act, treasury).failure is None
    assert wallet.deposited == 10


@story(
    VERSIONS,
    FORKS,
    "A version can be adopted and tried on a fork first; the live wallet keeps the one that it "
    "has.",
)
def test_a_version_is_tried_on_a_fork(worlds: Worlds) -> None:
    origin = worlds.agents()
    wallet = origin.account()
    for number in (1, 2):
        wallet.publish(name=f"Wallet {number}")
    wallet.adopt(1)
    fork = worlds.fork(origin)
    there = wallet.on(fork)
    there.adopt(2)
    there.instruct("Deposit 10 USDC")
    assert (there.deposited, wallet.deposited) == (10, 0)
    chosen = [
        each.world.read(each.versions, "versionOf", each.account.address)[0]
        for each in (wallet, there)
    ]
    assert chosen == [1, 2]


@story(
    TREASURIES,
    FORKS,
    "A run on a fork spends a copy of the live treasury, by its rules.",
)
def test_a_treasury_is_tried_on_a_fork(worlds: Worlds) -> None:
    origin = worlds.agents()
    treasury = origin.treasury(PAYEE)
    fork = worlds.fork(origin)
    there = fork.at("RunTreasury", treasury.address)
    assert fork.run("Pay", transfer(PAYEE, 1_000), there).failure is None
    assert fork.run("Pay", transfer(PAYEE, ETHER), there).failure is not None
    balances = [each.w3.eth.get_balance(treasury.address) for each in (origin, fork)]
    assert balances == [ETHER, ETHER - 1_000]
