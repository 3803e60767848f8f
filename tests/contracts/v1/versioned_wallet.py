"""A VersionedAccount with funds, tools, an allowed caller, and agents of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi import encode

from tests.contracts import plain_evm
from tests.contracts.callback.oracle_bench import (
    AGENT_GAS,
    ETHER,
    ITERATION_TYPE,
    LIFETIME,
    TIMEOUT,
    OracleBench,
)
from tests.contracts.plain_evm import OWNER, STRANGER
from tests.contracts.v1 import draft
from tests.contracts.v1.draft import RESULT_TYPE, reason, selector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.contracts.plain_evm import Contract

SUPPLY = 1_000
MAX_ITERATIONS = 4


@dataclass(frozen=True)
class Kind:
    """A kind of agent: the ERC's version, and whether it runs by callback."""

    erc_version: int
    is_callback: bool

    def __str__(self) -> str:
        return f"{'callback' if self.is_callback else 'embedded'}-{self.erc_version}"


EMBEDDED_V1, EMBEDDED_V2 = Kind(1, is_callback=False), Kind(2, is_callback=False)
CALLBACK_V1, CALLBACK_V2 = Kind(1, is_callback=True), Kind(2, is_callback=True)


class Wallet:
    """The account, and an agent of each kind that is given, published in this order."""

    def __init__(self, *kinds: Kind) -> None:
        self.bench = OracleBench()
        evm = self.bench.evm
        self.token = evm.deploy("DemoToken", "USD Coin", "USDC", 0, SUPPLY)
        self.pool = evm.deploy("LiquidityPool")
        self.versions = evm.deploy("AgentVersions", OWNER.address)
        self.account = evm.deploy(
            "VersionedAccount", OWNER.address, self.versions.address, self.pool.address
        )
        self.executors = {1: evm.deploy("MockExecutorV1"), 2: evm.deploy("MockExecutor")}
        self.tools = {1: self._deploy_tool_v1(), 2: self._deploy_tool_v2()}
        for tool in self.tools.values():
            self.account("setTool", tool.address, True)  # noqa: FBT003 - Solidity's order
        self.account("setCaller", STRANGER.address, True)  # noqa: FBT003
        self.token("transfer", self.account.address, SUPPLY)
        self.kinds = kinds
        self.agents = [self._deploy_agent(kind, number) for number, kind in enumerate(kinds, 1)]
        for agent in self.agents:
            self.versions("publish", agent.address)

    @property
    def deposited(self) -> int:
        amount: int = SUPPLY - self.token("balanceOf", self.account.address)
        return amount

    def begin(self, version: int, amount: int) -> int:
        """Give an instruction to the chosen version; return the run's ID.

        An embedded agent deposits the amount and answers; a run by callback waits for its model.
        """
        kind = self.kinds[version - 1]
        if not kind.is_callback:
            for step in self._steps(kind, amount):
                self.executors[kind.erc_version]("willReturn", step)
        run_id, _ = self.account("instruct", f"deposit {amount}", sender=STRANGER)
        return int(run_id)

    def finish(self, version: int, run_id: int, amount: int) -> None:
        """Answer an open run: deposit the amount, then end."""
        kind, agent = self.kinds[version - 1], self.agents[version - 1]
        for step in self._steps(kind, amount):
            assert self.answer(version, run_id, step), agent.address

    def answer(self, version: int, run_id: int, step: tuple[object, ...]) -> bool:
        """Answer the request that a run waits for; return whether the agent took it."""
        bench, kind = self.bench, self.kinds[version - 1]
        result_type = RESULT_TYPE if kind.erc_version == 1 else ITERATION_TYPE
        request = bench.request_of(self.agents[version - 1], run_id)
        return bench.answer(request, encode([result_type], [step]))

    def deposit(self, erc_version: int, amount: int) -> tuple[object, ...]:
        """Return the step that deposits an amount."""
        tool, types = self.tools[erc_version].address, ["address", "uint256"]
        values: list[object] = [self.token.address, amount]
        if erc_version == 1:
            return draft.use_tool(tool, types, values, reason("Deploy", amount))
        return plain_evm.use_tool(tool, types, values, "deposit")

    def _steps(self, kind: Kind, amount: int) -> Iterable[tuple[object, ...]]:
        yield self.deposit(kind.erc_version, amount)
        made: Any = draft if kind.erc_version == 1 else plain_evm
        yield made.final_answer("done")

    def _deploy_tool_v1(self) -> Contract:
        return self.bench.evm.deploy(
            "AccountToolV1",
            *("Deploy", "Deploys", self.account.address, selector("deploy(address,uint256)")),
            "deploy(address asset, uint256 amount)",
        )

    def _deploy_tool_v2(self) -> Contract:
        described = ([(1, "asset", "the token"), (4, "amount", "how much")],)
        return self.bench.evm.deploy(
            "AccountTool",
            *("Deploy", "Deploys", self.account.address, selector("deploy(address,uint256)")),
            *(described, "Deployed"),
        )

    def _deploy_agent(self, kind: Kind, number: int) -> Contract:
        suffix = "V1" if kind.erc_version == 1 else ""
        base_prompt = () if kind.erc_version == 1 else ("You manage.",)
        rest = (
            *("some-model", f"Wallet {number}", "Manages", "What to do", *base_prompt),
            *([self.tools[kind.erc_version].address], MAX_ITERATIONS),
        )
        if kind.is_callback:
            return self._deploy_callback_agent(f"OwnedCallbackAgent{suffix}", rest)
        executor = self.executors[kind.erc_version].address
        return self.bench.evm.deploy(f"OwnedAgent{suffix}", self.account.address, executor, *rest)

    def _deploy_callback_agent(self, name: str, rest: tuple[object, ...]) -> Contract:
        settings = (self.bench.oracle.address, AGENT_GAS, TIMEOUT, LIFETIME)
        agent = self.bench.evm.deploy(name, settings, *rest)
        subscription = self.bench.oracle("subscribe", value_wei=ETHER)
        self.bench.oracle("setConsumer", subscription, agent.address, True)  # noqa: FBT003
        agent("setSubscription", subscription)
        agent("setCaller", self.account.address, True)  # noqa: FBT003
        return agent
