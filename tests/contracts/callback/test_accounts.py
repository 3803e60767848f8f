"""AgentOracle's books: random sequences of everything that moves wei, with hostile clients.

After each step the oracle's balance is what it owes. In the end every wei can be taken out.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import to_canonical_address
from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.contracts.attack_sequences import Checkpoint
from tests.contracts.callback.oracle_bench import (
    LIFETIME,
    OTHER_WORKER,
    PRICES,
    TIMEOUT,
    WORKER,
    OracleBench,
    Order,
    Request,
    encode_iteration,
)
from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    Account,
    RevertedError,
    final_answer,
    text_input,
    use_tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contracts.plain_evm import Contract
    from tests.samples import Sample

STEPS = 50
SPARE = Account(PrivateKey(b"\x44" * 32))
PEOPLE = [OWNER, STRANGER, WORKER, OTHER_WORKER, SPARE]
YEAR = 365 * 86_400
AGENT_GAS = 1_500_000
ANY_REQUEST = 7
small = st.integers(0, ANY_REQUEST)


class Parties:
    """An oracle, its clients, agents and handlers, deployed once for all sequences."""

    def __init__(self) -> None:
        self.bench = bench = OracleBench()
        bench.evm.vm.state.set_balance(to_canonical_address(SPARE.address), 10**24)
        self.clients = [bench.client(), bench.client()]
        self.counter = bench.evm.deploy("CounterTool")
        self.later = [bench.evm.deploy("AsynchronousTool", kind) for kind in (0, 1)]
        self.failing = bench.evm.deploy("RevertingTool", 0)
        self.greedy = bench.evm.deploy("GreedyTool", 5, 0, 0)  # burns its gas
        tools = [self.counter, *self.later, self.failing, self.greedy]
        self.inner = bench.agent(tools, callback_gas_limit=AGENT_GAS, max_iterations=3)
        self.outer = bench.agent([*tools, self.inner], callback_gas_limit=AGENT_GAS)
        self.agents = [self.inner, self.outer]
        self.handler = bench.evm.deploy("ResultHandler")
        self.accounts = bench.evm.deploy("OracleAccounts")
        self.inner("setCaller", self.outer.address, True)  # noqa: FBT003
        self.holders: list[Account | Contract] = [*PEOPLE, *self.clients, self.handler]
        self.start = Checkpoint(bench.evm)

    def reset(self) -> None:
        """Undo everything that happened since the deployments."""
        self.start.restore()
        self.bench.evm.seen.clear()


@cache
def deployed_parties() -> Parties:
    return Parties()


class OracleMachine(RuleBasedStateMachine):
    """No wei is created, lost or stuck."""

    outcomes: ClassVar[Counter[str]] = Counter()

    @initialize()
    def begin(self) -> None:
        self.parties = deployed_parties()
        self.parties.reset()
        self.bench = self.parties.bench
        self.oracle = self.bench.oracle
        self.paid_in = self.taken_out = 0
        self.subscribe(10**17, 0)

    # ---- What happens

    def attempt(self, name: str, action: Callable[[], Any], *, value_wei: int = 0) -> Any:  # noqa: ANN401
        """Do something that the contracts may refuse; count what comes of it."""
        try:
            result = action()
        except RevertedError as refused:
            if refused.error[0] == "Panic":
                raise  # a refusal has a name
            self.outcomes[f"{name} refused"] += 1
            return None
        self.paid_in += value_wei
        self.outcomes[name] += 1
        return result

    def requests(self) -> list[Request]:
        return list(self.bench.evm.seen.values())

    def pick(self, number: int) -> Request:
        """Return a request: for most numbers one that waits, for small ones one of the latest."""
        known = self.requests()
        waiting = [r for r in known if self.oracle("commitmentOf", r.request_id) != bytes(32)]
        chosen = waiting if waiting and number != ANY_REQUEST else known
        return chosen[-1 - number % len(chosen)]

    @rule(
        client=small,
        steps=st.integers(1, 3),
        payer=small,
        subscription=st.sampled_from([0, 0, 0, 1, 1, 2]),
        extra=st.sampled_from([0, 0, 1, 10**15]),
        callback_gas=st.sampled_from([30_000, 200_000, 600_000]),
    )
    def open_budget(
        self,
        *,
        client: int,
        steps: int,
        payer: int,
        subscription: int,
        extra: int,
        callback_gas: int,
    ) -> None:
        parties: list[Account | Contract] = [*self.parties.clients, STRANGER]
        payers = [ZERO, STRANGER.address, self.parties.handler.address]
        order = Order(
            steps=steps,
            payer=payers[payer % 3],
            subscription_id=subscription,
            callback_gas_limit=callback_gas,
        )
        value = 0 if subscription else steps * self.bench.fee(callback_gas) + extra
        self.attempt(
            "request",
            lambda: self.bench.request(parties[client % 3], order, value_wei=value),
            value_wei=value,
        )

    @precondition(lambda self: self.requests())
    @rule(number=small)
    def request_again(self, number: int) -> None:
        old = self.pick(number)
        parties: dict[str, Account | Contract] = {STRANGER.address: STRANGER}
        parties |= {client.address: client for client in self.parties.clients}
        if old.client in parties:
            order = Order(budget_id=old.budget_id)
            self.attempt(
                "request from a budget", lambda: self.bench.request(parties[old.client], order)
            )

    @precondition(lambda self: self.requests())
    @rule(number=small, kind=small, refused=st.booleans(), worker=small, blocks=st.integers(0, 2))
    def answer(self, *, number: int, kind: int, refused: bool, worker: int, blocks: int) -> None:
        request = self.pick(number)
        is_agents = request.client in {agent.address for agent in self.parties.agents}
        output = encode_iteration(self.iteration(kind)) if is_agents else b"\x01" * (kind * 40)
        self.bench.pass_time(12 * blocks, blocks=blocks)
        signers = [WORKER, WORKER, OTHER_WORKER, OTHER_WORKER, STRANGER]
        signed = self.bench.sign(
            request,
            output,
            refused=refused and kind > 3,
            worker=signers[worker % 5],
        )
        gas = 400_000 if kind == 6 else 4_000_000
        self.attempt("answer", lambda: self.bench.send(signed, gas=gas))

    def iteration(self, kind: int) -> tuple[object, ...]:
        """Return what the model said: an answer, or one of the tools."""
        parties = self.parties
        none = (parties.later[0], parties.later[1], parties.failing, parties.greedy)
        choices = {
            0: use_tool(parties.counter.address, ["uint256"], [1]),
            1: use_tool(parties.inner.address, ["string"], ["do"]),
            **{2 + n: use_tool(tool.address, [], []) for n, tool in enumerate(none)},
        }
        return choices.get(kind, final_answer("done"))

    @precondition(lambda self: self.requests())
    @rule(number=small, waits=st.booleans())
    def expire(self, number: int, *, waits: bool) -> None:
        request = self.pick(number)
        if waits:
            self.bench.pass_time(max(0, request.deadline + 1 - self.bench.now), blocks=1)
        self.attempt("expire", lambda: self.oracle("expire", request.encoded(), sender=SPARE))

    @precondition(lambda self: self.requests())
    @rule(kinds=st.lists(small, min_size=1, max_size=3))
    def answer_agents(self, kinds: list[int]) -> None:
        """Answer the latest requests, as honest workers do."""
        for kind in kinds:
            self.answer(number=0, kind=kind, refused=False, worker=0, blocks=1)

    @precondition(lambda self: self.requests())
    @rule(number=small, gas=st.sampled_from([100_000, 900_000, 6_000_000]))
    def retry(self, number: int, gas: int) -> None:
        request_id = self.pick(number).request_id
        self.attempt("retry", lambda: self.oracle("retry", request_id, sender=SPARE, gas=gas))

    @precondition(lambda self: self.requests())
    @rule(number=small, by=small)
    def release(self, number: int, by: int) -> None:
        request = self.pick(number)
        data = self.oracle.artifact.encode_call("release", request.budget_id)
        clients = {client.address: client for client in self.parties.clients}
        if by % 2 and request.client in clients:
            client = clients[request.client]
            self.attempt("release", lambda: client("callOracle", data))
        else:
            self.attempt(
                "release", lambda: self.oracle("release", request.budget_id, sender=STRANGER)
            )

    @rule(who=small)
    def withdraw(self, who: int) -> None:
        people = self.parties.holders
        self.attempt("withdrawal", lambda: self.take_out(people[who % len(people)]))

    def take_out(self, who: Account | Contract) -> None:
        """Let an account or contract withdraw."""
        before = self.bench.balance(self.oracle.address)
        to = "0x" + "ee" * 20
        if isinstance(who, Account):
            self.oracle("withdraw", to, sender=who)
        else:
            data = self.oracle.artifact.encode_call("withdraw", to)
            if who is self.parties.handler:
                who("call", self.oracle.address, data)
            else:
                who("callOracle", data)
        self.taken_out += before - self.bench.balance(self.oracle.address)

    # ---- Subscriptions, prices, workers

    def subscribe(self, amount: int, owner: int) -> None:
        """Create a subscription that all clients and agents may use."""
        who = PEOPLE[owner % 2]
        number = self.attempt(
            "subscription",
            lambda: self.oracle("subscribe", sender=who, value_wei=amount),
            value_wei=amount,
        )
        for consumer in (*self.parties.clients, *self.parties.agents):
            self.oracle("setConsumer", number, consumer.address, True, sender=who)  # noqa: FBT003
        for agent in self.parties.agents:
            agent("setSubscription", number)

    @rule(
        function=st.sampled_from(["subscribe", "fund", "cancel", "setPrices", "setWorker"]),
        number=st.integers(1, 2),
        amount=st.sampled_from([1, 10**16, 10**17]),
        prices=st.sampled_from([(0, 0, 0), (1, 1, 1), (7, 10**9, 100_000), PRICES, PRICES]),
    )
    def administer(
        self, *, function: str, number: int, amount: int, prices: tuple[int, int, int]
    ) -> None:
        by = PEOPLE[amount % 2]
        if function == "subscribe":
            self.subscribe(amount, number)
        elif function == "fund":
            self.attempt(
                "fund",
                lambda: self.oracle("fund", number, sender=SPARE, value_wei=amount),
                value_wei=amount,
            )
        elif function == "cancel":
            self.attempt("cancel", lambda: self.oracle("cancel", number, sender=by))
        elif function == "setPrices":
            self.oracle("setPrices", prices)
        else:
            self.oracle("setWorker", OTHER_WORKER.address, number == 1)

    # ---- Clients, handlers and agents

    @rule(client=small, behaviour=st.integers(0, 5), handler=st.integers(0, 3))
    def misbehave(self, client: int, behaviour: int, handler: int) -> None:
        self.parties.clients[client % 2]("behave", behaviour, 20)
        self.parties.handler("behave", handler)

    @precondition(lambda self: self.requests())
    @rule(client=small, number=small)
    def reenter(self, client: int, number: int) -> None:
        encode_call = self.oracle.artifact.encode_call
        request = self.pick(number)
        calls = [
            encode_call("withdraw", STRANGER.address),
            encode_call("subscribe"),
            encode_call("request", Order(budget_id=request.budget_id).encoded()),
            encode_call("release", request.budget_id),
            encode_call("expire", request.encoded()),
            encode_call("answer", *self.bench.sign(request).arguments()),
            encode_call("retry", request.request_id),
        ]
        self.parties.clients[client % 2]("reenterWith", calls)

    @rule(agent=small, asker=small, extra=st.sampled_from([0, 5]))
    def ask(self, agent: int, asker: int, extra: int) -> None:
        asked = self.parties.agents[agent % 2]
        value = asked("costOfRun") + extra
        handler = self.parties.handler
        if asker % 2:
            data = asked.artifact.encode_call("ask", "do", handler.address)
            call = lambda: handler("call", asked.address, data, value_wei=value)  # noqa: E731
        else:
            call = lambda: asked("ask", "do", handler.address, sender=STRANGER, value_wei=value)  # noqa: E731
        self.attempt("ask", call, value_wei=value)

    @rule(agent=small)
    def run(self, agent: int) -> None:
        asked = self.parties.agents[agent % 2]
        handler = self.parties.handler.address
        self.attempt("run", lambda: asked("run", text_input("do"), handler))

    @rule(back=st.integers(0, 2), result=st.sampled_from(["a result", "FAILED: no", "UNSURE:"]))
    def finish_tool(self, back: int, result: str) -> None:
        tool = self.parties.later[0]
        count = tool("runCount")
        if count:
            self.attempt("tool's result", lambda: tool("finish", count - 1 - back, result))

    @rule(agent=small, run_id=st.integers(1, 4), function=st.sampled_from(["expireRun", "deliver"]))
    def end_run(self, agent: int, run_id: int, function: str) -> None:
        asked = self.parties.agents[agent % 2]
        self.attempt(function, lambda: asked(function, run_id, sender=SPARE, gas=4_000_000))

    @rule(seconds=st.sampled_from([1, TIMEOUT, TIMEOUT + 1, LIFETIME, 3 * LIFETIME]))
    def pass_time(self, seconds: int) -> None:
        self.bench.pass_time(seconds, blocks=1)

    # ---- What must hold

    @invariant()
    def balance_is_what_is_owed(self) -> None:
        if not hasattr(self, "bench"):
            return
        balance = self.bench.balance(self.oracle.address)
        assert balance == sum(self.owed())
        assert balance == self.paid_in - self.taken_out

    def owed(self) -> tuple[int, int, int, int]:
        """Return claimable wei, those of budgets and subscriptions, and fees of requests."""
        requests = self.requests()
        sums: tuple[int, int, int, int] = self.parties.accounts(
            "owed",
            self.oracle.address,
            [one.address for one in self.parties.holders],
            [request.request_id for request in requests],
            [request.fee for request in requests],
        )
        return sums

    def teardown(self) -> None:
        """Take everything out, while clients and handlers still misbehave."""
        if not hasattr(self, "bench"):
            return
        self.bench.pass_time(YEAR, blocks=1)
        for client in self.parties.clients:
            client("reenterWith", [])
        self.end_everything()
        for holder in self.parties.holders:
            if self.oracle("claimable", holder.address):
                self.take_out(holder)
        assert self.owed() == (0, 0, 0, 0)
        assert self.bench.balance(self.oracle.address) == 0
        assert self.taken_out == self.paid_in
        self.outcomes["sequences"] += 1
        self.outcomes["requests made"] += len(self.requests())

    def end_everything(self) -> None:
        """Cancel subscriptions, end requests and release budgets."""
        people = {who.address: who for who in PEOPLE}
        for number in range(1, self.oracle("subscriptionCount") + 1):
            owner, _ = self.oracle("subscriptions", number)
            if owner != ZERO:
                self.oracle("cancel", number, sender=people[owner])
        for request in self.requests():
            if self.oracle("commitmentOf", request.request_id) != bytes(32):
                self.oracle("expire", request.encoded(), sender=SPARE)
        for number in range(1, self.oracle("budgetCount") + 1):
            if not self.oracle("budgets", number)[3]:
                self.oracle("release", number, sender=SPARE)


@pytest.mark.slow
@pytest.mark.sample(count=6, seed=21)
def test_no_wei_is_created_lost_or_stuck(sample: Sample) -> None:
    OracleMachine.outcomes.clear()
    options = settings(max_examples=sample.count, stateful_step_count=STEPS, database=None)
    run_state_machine_as_test(seed(sample.seed)(OracleMachine), settings=options)
    assert OracleMachine.outcomes["sequences"] >= sample.count
    sample.figures.update(sorted(OracleMachine.outcomes.items()))
