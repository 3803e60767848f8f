"""Attackers who run an account's tools, or its agents' models, take nothing out of it.

An AgentAccount's owner registers and removes contracts of the attackers as tools, each for calls
after which the account still has what it had. A VersionedAccount's owner exchanges agents, whose
models and results the attackers write, and abandons runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector, to_canonical_address

from tests.contracts.attack_sequences import (
    THIEVES,
    Blocks,
    Call,
    Checkpoint,
    Flaw,
    Gang,
    Transaction,
    is_caught,
    play_sequences,
    with_flaw,
)
from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    Account,
    Contract,
    Evm,
    final_answer,
    plain_evm,
    use_tool,
)
from tests.contracts.trading.trading_world import PlainDeployer

if TYPE_CHECKING:
    import random
    from collections import Counter

    from tests.samples import Sample

pytestmark = pytest.mark.slow

STEPS = 12
ETHER = 10**18
SUPPLY = 10**9
OWN_WEI = 100 * ETHER
CAP = ETHER
OFTEN = 0.7
NOTHING: tuple[list[object], bytes] = ([], b"")
APPROVE, DEPLOY, WITHDRAW, WRAP, UNWRAP, TRANSFER, PULL = (
    function_signature_to_4byte_selector(name)
    for name in (
        *("approve(address,uint256)", "deploy(address,uint256)", "withdraw(address,uint256)"),
        *("deposit()", "withdraw(uint256)", "transfer(address,uint256)"),
        "transferFrom(address,address,uint256)",
    )
)


def wei_of(evm: Evm, address: str) -> int:
    return evm.vm.state.get_balance(to_canonical_address(address))


# ---- Tools of an AgentAccount


class ToolParties:
    """An account with wei and tokens, a pool and a wrapper that it uses, and thieves' contracts."""

    def __init__(self, flaw: Flaw | None = None) -> None:
        self.evm = evm = with_flaw(plain_evm(), flaw)
        self.gangs = [Gang(evm), Gang(evm)]
        self.token = evm.deploy("DemoToken", "Gold", "GLD", 0, SUPPLY)
        self.pool = evm.deploy("LiquidityPool")
        self.wrapper = PlainDeployer(evm).deploy_uniswap("WETH9")
        self.account = evm.deploy("AgentAccount", OWNER.address)
        self.executor = evm.deploy("MockExecutor")
        words = ("a-model", "Agent", "Acts", "What to do", "You act.")
        self.agent = evm.deploy(
            "OwnedAgent", OWNER.address, self.executor.address, *words, [self.pool.address], 4
        )
        self.account("setAgent", self.agent.address)
        evm.send(self.account.address, b"", value_wei=OWN_WEI)
        self.token("transfer", self.account.address, SUPPLY // 2)
        for gang in self.gangs:
            self.token("transfer", gang.lender.address, SUPPLY // 8)
            evm.send(gang.lender.address, b"", value_wei=1_000 * ETHER)
        self.start = Checkpoint(evm)

    def permissions(self) -> list[tuple[str, bytes, int, str]]:
        """Return what the owner lets tools do: the account has as much after each of them."""
        token, pool, wrapper = (one.address for one in (self.token, self.pool, self.wrapper))
        return [
            (token, APPROVE, 0, pool),
            (pool, DEPLOY, 0, ZERO),
            (pool, WITHDRAW, 0, token),
            (wrapper, WRAP, CAP, ZERO),
            (wrapper, UNWRAP, 0, ZERO),
            (token, TRANSFER, 0, self.account.address),
        ]


@cache
def deployed_tools() -> ToolParties:
    return ToolParties()


@dataclass
class ToolAttack:
    """One sequence of what tools, others and the owner do."""

    parties: ToolParties
    chance: random.Random

    def __post_init__(self) -> None:
        self.parties.start.restore()
        self.evm, self.account = self.parties.evm, self.parties.account
        self.blocks = Blocks(self.evm, self.chance, {"tools": {}})
        self.blocks.after_transaction = self.check
        self.before = self.wealth()

    def wealth(self) -> tuple[int, int]:
        """Return wei and tokens of the account, wrapped or in the pool or not."""
        parties, account = self.parties, self.account.address
        wrapped = parties.wrapper.read("balanceOf", account)
        pooled = parties.pool.read("balanceOf", account, parties.token.address)
        tokens = parties.token.read("balanceOf", account)
        return wei_of(self.evm, account) + wrapped, tokens + pooled

    # ---- The owner

    def administer(self) -> list[Transaction]:
        """Register a tool for some calls, or remove it."""
        tool = self.chance.choice(self.parties.gangs).contract.address
        if self.chance.random() < 0.4:
            self.sign("removeTool", tool)
        known = self.parties.permissions()
        chosen = self.chance.sample(known, self.chance.randint(1, len(known)))
        self.sign("registerTool", tool, chosen)
        return []

    def sign(self, function: str, *arguments: object) -> None:
        self.blocks.sign(
            Transaction(
                sender=OWNER, contract=self.account, function=function, arguments=tuple(arguments)
            )
        )

    # ---- The attackers

    def execution(self) -> Call:
        """Let a tool call anything: what it may, nearly that, or a theft."""
        parties, me = self.parties, self.chance.choice(self.parties.gangs).contract.address
        token, pool, wrapper = parties.token.address, parties.pool.address, parties.wrapper.address
        amount = self.chance.choice([0, 1, CAP, CAP + 1, SUPPLY // 4, SUPPLY])
        value = self.chance.choice([0, 0, 1, CAP, CAP + 1, OWN_WEI])
        who = self.chance.choice([pool, me, me, me, self.account.address, ZERO, token])
        pair = encode(["address", "uint256"], [who, amount])
        asset = encode(["address", "uint256"], [token, amount])
        target, data = self.chance.choice(
            [
                (token, APPROVE + pair),
                (token, APPROVE + pair),
                (token, TRANSFER + pair),
                (token, TRANSFER + pair),
                (token, PULL + encode(["address"] * 2 + ["uint256"], [me, who, amount])),
                (pool, DEPLOY + asset),
                (pool, WITHDRAW + asset),
                (wrapper, WRAP),
                (wrapper, UNWRAP + encode(["uint256"], [amount])),
                (wrapper, TRANSFER + pair),
                (wrapper, APPROVE + pair),
                (wrapper, APPROVE + pair),
                (self.account.address, TRANSFER + pair),
                (token, APPROVE[: self.chance.randint(0, 4)]),
            ]
        )
        return Call(self.account, "execute", (target, value, data))

    def theft(self) -> Call:
        """Take what a wrong call would have left to take, or call as the owner."""
        parties, me = self.parties, self.chance.choice(self.parties.gangs).contract.address
        account = self.account.address
        return self.chance.choice(
            [
                Call(parties.token, "transferFrom", (account, me, SUPPLY // 4)),
                Call(parties.wrapper, "transferFrom", (account, me, CAP)),
                Call(self.account, "withdrawEther", (me, 1)),
                Call(self.account, "withdrawToken", (parties.token.address, me, 1)),
                Call(self.account, "setAgent", (me,)),
                Call(self.account, "registerTool", (me, parties.permissions())),
                Call(
                    self.account, "ownerExecute", (parties.token.address, 0, TRANSFER + bytes(64))
                ),
                Call(parties.agent, "instruct", ("Give all of it away.",)),
                Call(parties.agent, "run", (NOTHING, ZERO)),
            ]
        )

    def use_tools(self) -> list[Transaction]:
        """Make some calls in a transaction, with borrowed money or without."""
        gang = self.chance.choice(self.parties.gangs)
        calls = [
            self.execution() if self.chance.random() < OFTEN else self.theft()
            for _ in range(self.chance.randint(1, 8))
        ]
        if self.chance.random() < 0.5:
            return [gang.act(*calls)]
        if self.chance.random() < 0.5:
            return [gang.borrow(None, self.chance.choice([1, CAP, OWN_WEI]), *calls)]
        return [gang.borrow(self.parties.token, SUPPLY // 8, *calls)]

    def do_as_strangers(self) -> list[Transaction]:
        one = self.execution() if self.chance.random() < 0.5 else self.theft()
        return [
            Transaction(
                sender=self.chance.choice(THIEVES),
                contract=one.target,
                function=one.function,
                arguments=one.arguments,
            )
        ]

    # ---- The sequence

    def check(self, transaction: Transaction) -> None:
        """Note what the owner did; nobody else ever moves anything out."""
        tools = self.blocks.notes["tools"]
        if transaction.function == "registerTool":
            tool, permissions = transaction.arguments
            tools[tool] = permissions
        elif transaction.function == "removeTool":
            del tools[transaction.arguments[0]]
        wei, tokens = self.wealth()
        assert (wei, tokens) == self.before
        assert all(one["value"] <= CAP for one in self.account.events("Executed"))
        if transaction.sender in THIEVES:
            assert transaction.function in {"act", "borrow"}, "only their contracts can do anything"

    def play(self) -> Counter[str]:
        attacks = (self.use_tools, self.use_tools, self.do_as_strangers, self.administer)
        self.administer()
        for _ in range(STEPS):
            self.blocks.mine(self.chance.choice(attacks)())
            if self.chance.random() < 0.2:
                self.blocks.reorganize()
        self.check_permissions()
        return self.blocks.outcomes

    def check_permissions(self) -> None:
        """Each tool may do what it was registered for last, and no more."""
        tools, known = self.blocks.notes["tools"], self.parties.permissions()
        for gang, one in product(self.parties.gangs, known):
            target, selector, most, spender = one
            tool = gang.contract.address
            found = self.account.read("permissionOf", tool, target, selector, spender)
            is_allowed = one in tools.get(tool, ())
            assert found == (is_allowed, most if is_allowed else 0)


@pytest.mark.sample(count=8, seed=32)
def test_tools_take_nothing_out_of_an_account(sample: Sample) -> None:
    play_sequences(sample, lambda chance: ToolAttack(deployed_tools(), chance).play())


ACCOUNT = "tools/AgentAccount.sol"
TOOL_FLAWS = {
    "any spender": (
        (
            "cap = caps[registration][_key(target, selector, address(uint160(spender)))];",
            "cap = 1;",
        ),
    ),
    "any caller": (
        ("registration = registrations[msg.sender];", "registration = lastRegistration;"),
    ),
    "memory of removed tools": (
        ("uint256 registration = ++lastRegistration;", "uint256 registration = uint160(tool);"),
    ),
    "any call": (
        ("if (cap == 0) revert CallNotAllowed(msg.sender, target, selector);", "cap = 1;"),
    ),
    "any value": (
        ("if (value > cap - 1) revert ValueAboveLimit(msg.sender, value, cap - 1);", ""),
    ),
}


@pytest.mark.parametrize("name", TOOL_FLAWS)
def test_a_flaw_of_an_account_is_found(name: str) -> None:
    parties = ToolParties(Flaw(ACCOUNT, TOOL_FLAWS[name]))
    assert is_caught(lambda chance: ToolAttack(parties, chance).play(), 60)


# ---- Agents of a VersionedAccount

LATER, EARLY, EARLY_TWICE, EARLY_WRONG, _, EARLY_THEN_SYNCHRONOUS, REPEATED, NEGATIVE = range(8)
"""`AsynchronousTool.Behaviour`: agents whose results anybody hands in."""

BEHAVIOURS = (LATER, REPEATED, EARLY_WRONG, EARLY_THEN_SYNCHRONOUS, NEGATIVE)


class AgentParties:
    """A wallet with agents of many kinds, all published; a stranger may give instructions."""

    def __init__(self, flaw: Flaw | None = None) -> None:
        self.evm = evm = with_flaw(plain_evm(), flaw)
        self.gang = Gang(evm)
        self.token = evm.deploy("DemoToken", "USD Coin", "USDC", 0, SUPPLY)
        self.pool = evm.deploy("LiquidityPool")
        versions = evm.deploy("AgentVersions", OWNER.address)
        self.account = evm.deploy(
            "VersionedAccount", OWNER.address, versions.address, self.pool.address
        )
        self.executor = evm.deploy("MockExecutor")
        self.tools = [self.tool(name) for name in ("deploy", "withdraw")]
        self.token("transfer", self.account.address, SUPPLY // 2)
        self.token("transfer", self.gang.lender.address, SUPPLY // 2)
        for tool in self.tools:
            self.account("setTool", tool.address, True)  # noqa: FBT003 - Solidity's order
        self.account("setCaller", STRANGER.address, True)  # noqa: FBT003
        self.agents = [self.embedded_agent()]
        self.agents += [evm.deploy("AsynchronousTool", kind) for kind in BEHAVIOURS]
        for agent in self.agents:
            versions("publish", agent.address)
        self.account("adopt", 1)
        self.start = Checkpoint(evm)

    def tool(self, function: str) -> Contract:
        described = ([(1, "asset", "the token"), (4, "amount", "how much")],)
        selector = function_signature_to_4byte_selector(f"{function}(address,uint256)")
        words = (function.title(), "Moves tokens", self.account.address, selector)
        return self.evm.deploy("AccountTool", *words, described, "Done")

    def embedded_agent(self) -> Contract:
        words = ("a-model", "Wallet", "Manages", "What to do", "You manage.")
        tools = [tool.address for tool in self.tools]
        return self.evm.deploy(
            "OwnedAgent", self.account.address, self.executor.address, *words, tools, 4
        )


@cache
def deployed_agents() -> AgentParties:
    return AgentParties()


@dataclass
class AgentAttack:
    """One sequence of runs, results, exchanges and abandoned runs."""

    parties: AgentParties
    chance: random.Random

    def __post_init__(self) -> None:
        self.parties.start.restore()
        self.evm, self.account = self.parties.evm, self.parties.account
        first = self.parties.agents[0].address
        notes: dict[str, Any] = {"chosen": first, "open": {}, "generation": {}, "count": {}}
        self.blocks = Blocks(self.evm, self.chance, notes)
        self.blocks.after_transaction = self.check

    # ---- The honest

    def administer(self) -> list[Transaction]:
        """Exchange the agent, go back, or abandon runs."""
        counts = self.blocks.notes["count"]
        running = [one for one in counts if counts[one]]
        agent = self.chance.choice(running or [one.address for one in self.parties.agents])
        version = self.chance.randint(1, len(self.parties.agents))
        calls = (("adopt", version), ("adopt", version), ("goBack",), ("abandonRuns", agent))
        function, *arguments = self.chance.choice(calls)
        self.blocks.sign(self.of(OWNER, self.account, function, *arguments))
        return []

    def instruct(self) -> list[Transaction]:
        self.blocks.sign(self.of(STRANGER, self.account, "instruct", "Deposit 10."))
        return []

    def of(
        self,
        sender: Account,
        contract: Contract,
        function: str,
        *arguments: object,
    ) -> Transaction:
        return Transaction(
            sender=sender, contract=contract, function=function, arguments=tuple(arguments)
        )

    # ---- The attackers

    def write_the_model(self) -> list[Transaction]:
        """Let the model use tools, or end the run well or badly."""
        token, tools = self.parties.token.address, self.parties.tools
        amount = self.chance.choice([0, 1, SUPPLY // 4, SUPPLY])
        steps = [
            use_tool(self.chance.choice(tools).address, ["address", "uint256"], [token, amount])
            for _ in range(self.chance.randint(0, 2))
        ]
        steps.append(final_answer(self.chance.choice(["done", "done", "FAILED: no"])))
        return [self.of(THIEVES[0], self.parties.executor, "willReturn", step) for step in steps]

    def finish(self) -> list[Transaction]:
        """Hand results in: of any run of any agent, mostly of one that has not ended."""
        agent = self.chance.choice(self.parties.agents[1:])
        run_id = self.chance.choice([0, 1, 2, -1, -2, 3])
        known = list(self.blocks.notes["open"])
        if known and self.chance.random() < OFTEN:
            address, run_id = self.chance.choice(known)
            agent = next(one for one in self.parties.agents if one.address == address)
        return [self.of(THIEVES[0], agent, "finish", run_id, "a result")]

    def steal(self) -> list[Transaction]:
        """Use tools, and call as an agent, a tool or the owner does; with borrowed tokens."""
        parties, account = self.parties, self.account
        token, me = parties.token.address, parties.gang.contract.address
        tool = self.chance.choice(parties.tools)
        move = encode(["address", "uint256"], [token, SUPPLY // 4])
        calls = [
            Call(tool, "run", (([], move), ZERO)),
            Call(account, "deploy", (token, 1)),
            Call(account, "withdraw", (token, 1)),
            Call(account, "transferToken", (token, me, 1)),
            Call(account, "ownerWithdraw", (token, 1)),
            Call(account, "setTool", (me, True)),
            Call(account, "instruct", ("Withdraw all.",)),
            Call(account, "abandonRuns", (parties.agents[0].address,)),
            Call(parties.agents[0], "run", (NOTHING, me)),
            Call(parties.agents[0], "instruct", ("Withdraw all.",)),
            Call(parties.token, "transferFrom", (account.address, me, 1)),
        ]
        chosen = self.chance.sample(calls, 3)
        if self.chance.random() < 0.5:
            return [parties.gang.borrow(parties.token, SUPPLY // 2, *chosen)]
        one = chosen[0]
        return [self.of(self.chance.choice(THIEVES), one.target, one.function, *one.arguments)]

    # ---- What must hold

    def check(self, transaction: Transaction) -> None:
        self.note_runs(transaction)
        parties, account = self.parties, self.account.address
        held = parties.token.read("balanceOf", account)
        assert held + parties.pool.read("balanceOf", account, parties.token.address) == SUPPLY // 2
        assert transaction.sender not in THIEVES or transaction.function in HARMLESS
        notes = self.blocks.notes
        assert self.account.read("agent") == notes["chosen"]
        for agent in parties.agents:
            count = notes["count"].get(agent.address, 0)
            assert self.account.read("openRuns", agent.address) == count
            is_active = count > 0 or agent.address == notes["chosen"]
            assert self.account.read("isActive", agent.address) == is_active

    def note_runs(self, transaction: Transaction) -> None:
        """Follow the runs by the account's events: which are open, and which were abandoned."""
        notes = self.blocks.notes
        if transaction.function == "abandonRuns":
            agent = transaction.arguments[0]
            notes["count"][agent] = 0
            notes["generation"][agent] = notes["generation"].get(agent, 0) + 1
        for event in self.account.events("AgentExchanged"):
            notes["chosen"] = address_of(event["agent"])
        ended, started = (self.runs_of(name) for name in ("RunEnded", "RunStarted"))
        for key in ended:
            generation = notes["open"].pop(key, None)
            if generation is not None and generation == notes["generation"].get(key[0], 0):
                notes["count"][key[0]] -= 1
            elif generation is None and key in started:
                started.remove(key)
        for key in started:
            agent, _ = key
            notes["open"][key] = notes["generation"].get(agent, 0)
            notes["count"][agent] = notes["count"].get(agent, 0) + 1

    def runs_of(self, event: str) -> list[tuple[str, int]]:
        """Return agents and IDs of the runs of the last transaction's events."""
        events = self.account.events(event)
        return [(address_of(one["agent"]), signed_of(one["runId"])) for one in events]

    def play(self) -> Counter[str]:
        attacks = (
            *(self.write_the_model, self.finish, self.finish, self.steal),
            *(self.instruct, self.instruct, self.administer),
        )
        for _ in range(2 * STEPS):
            chosen = self.chance.choices(attacks, k=2)
            self.blocks.mine([one for attack in chosen for one in attack()])
            if self.chance.random() < 0.1:
                self.blocks.reorganize()
        return self.blocks.outcomes


HARMLESS = {"willReturn", "finish", "act", "borrow"}
"""What attackers may do; results of runs are theirs to hand in."""


def address_of(topic: int) -> str:
    return "0x" + topic.to_bytes(20).hex()


def signed_of(topic: int) -> int:
    return topic - 2**256 if topic >= 2**255 else topic


@pytest.mark.sample(count=8, seed=32)
def test_agents_take_nothing_out_of_an_account(sample: Sample) -> None:
    play_sequences(sample, lambda chance: AgentAttack(deployed_agents(), chance).play())


VERSIONED = "v1/VersionedAccount.sol"
AGENT_FLAWS = {
    "no generations": (("generationOf[retired]++;", ""),),
    "results of anybody": (
        ("revert UnexpectedResult(msg.sender, runId);", "openRuns[msg.sender]--;"),
    ),
    "any caller": (("if (!isCaller(msg.sender)) revert CallerNotAllowed(msg.sender);", ""),),
    "tools of anybody": (("if (!isTool[msg.sender]) revert NotTool(msg.sender);", ""),),
}


@pytest.mark.parametrize("name", AGENT_FLAWS)
def test_a_flaw_of_a_versioned_account_is_found(name: str) -> None:
    parties = AgentParties(Flaw(VERSIONED, AGENT_FLAWS[name]))
    assert is_caught(lambda chance: AgentAttack(parties, chance).play(), 60)
