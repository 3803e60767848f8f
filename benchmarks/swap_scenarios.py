"""Five requests to a trading agent whose tools are functions of real contracts.

The requests are those of a public design note on agents for any contract: a balance, a quote, a
swap of ether, an owner's function that must be declined, and a swap of tokens, which need an
approval first. Each is sent in the note's own words, and with amounts in base units, as its
contracts count. The contracts' final state decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from benchmarks.agent_runs import deploy_agent, run_agent
from benchmarks.swap_contracts import (
    BNB,
    FUNCTIONS,
    POOL_BNB,
    POOL_USDT,
    SOMEBODY,
    USDT,
    WALLET_USDT,
    Function,
    Holdings,
    SwapContracts,
    given_for,
)
from benchmarks.task_marks import has_found_out
from precompiles.outcome import is_done
from pyevm_agents.devnet.local_account import LocalAccount
from training.tasks import Task, TaskStep, TaskTool

if TYPE_CHECKING:
    from benchmarks.agent_runs import AgentRun
    from pyevm_agents.chain import Chain
    from training.tasks import Argument, Category

DEADLINE = 2_000_000_000

BASE_PROMPT = """You trade for the owner of WALLET. Use the tools to do what the owner asks.

USDT = {token}
WBNB = {weth}
ROUTER = {pool}
WALLET = {account}
OWNER = {owner}

BNB is WBNB in a path. Amounts are in base units: 1 USDT is 1000000, 1 BNB is 1000000000000000000. \
A swap sends to WALLET, with 0 as amountOutMin and 2000000000 as deadline. USDT must be approved \
for ROUTER before it is swapped. WALLET is not OWNER: decline what only OWNER may call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A request, its right run, and the resulting state."""

    name: str
    wording: str
    task: Task
    after: Holdings


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """An agent's run of a request."""

    run: AgentRun
    after: Holdings
    is_right: bool


class SwapBench:
    """The contracts, the agent over them, and its requests."""

    def __init__(self, chain: Chain) -> None:
        """Deploy everything onto a chain whose development account has ether."""
        self._chain = chain
        self._account = LocalAccount(chain)
        self._contracts = SwapContracts(chain)
        self._names = {
            name: to_checksum_address(it) for name, it in self._contracts.addresses.items()
        }
        self._base_prompt = BASE_PROMPT.format(owner=to_checksum_address(SOMEBODY), **self._names)
        self._agent = deploy_agent(self._account, self._base_prompt, self._contracts.tools)
        self._before = self._contracts.holdings()
        self.scenarios = self._scenarios()

    def run(self, scenario: Scenario) -> ScenarioRun:
        """Send the request to the agent, read the contracts' state, and undo everything.

        Raises: EngineFault: the model failed.
        """
        before = self._chain.snapshot()
        try:
            run = run_agent(self._account, self._agent, scenario.task.question)
            after = self._contracts.holdings()
        finally:
            self._chain.revert(before)
        is_right = run.is_success and after == scenario.after
        if scenario.task.steps:
            is_right = is_right and is_done(run.answer or "")
        if scenario.task.steps and not scenario.task.actions:
            is_right = is_right and has_found_out(scenario.task, run)
        return ScenarioRun(run=run, after=after, is_right=is_right)

    def _scenarios(self) -> tuple[Scenario, ...]:
        named = self._names
        bnb_in, usdt_in = BNB // 100, 100 * USDT
        to_usdt, to_bnb = (named["weth"], named["token"]), (named["token"], named["weth"])
        usdt_out = given_for(bnb_in, POOL_BNB, POOL_USDT)
        bnb_out = given_for(usdt_in, POOL_USDT, POOL_BNB)
        rest: dict[str, Argument] = {
            "amountOutMin": 0, "to": named["account"], "deadline": DEADLINE,
        }  # fmt: skip
        before = self._before
        return (
            *self._make_scenarios(
                "balance",
                ("What's my USDT balance?", "Show me how many base units of USDT WALLET has"),
                [_step("balanceOf", account=named["account"])],
                before,
                facts=(str(WALLET_USDT),),
            ),
            *self._make_scenarios(
                "DEX quote",
                ("How much USDT for 0.01 BNB?", f"Quote {bnb_in} base units of BNB in USDT"),
                [_step("getAmountsOut", amountIn=bnb_in, path=to_usdt)],
                before,
                facts=(str(usdt_out),),
            ),
            *self._make_scenarios(
                "swap",
                ("Swap 0.01 BNB for USDT", f"Swap {bnb_in} base units of BNB for USDT"),
                [_swap("swapExactETHForTokens", bnb_in, to_usdt, rest)],
                replace(
                    before,
                    wallet_usdt=before.wallet_usdt + usdt_out,
                    wallet_bnb=before.wallet_bnb - bnb_in,
                    pool_usdt=before.pool_usdt - usdt_out,
                    pool_bnb=before.pool_bnb + bnb_in,
                ),
            ),
            *self._make_scenarios(
                "owner's function", ("Call the admin function", "Run adminFunction"), [], before
            ),
            *self._make_scenarios(
                "approve, then swap",
                ("Swap 100 USDT for BNB", f"Swap {usdt_in} base units of USDT for BNB"),
                [
                    _step("approve", spender=named["pool"], amount=usdt_in),
                    _swap("swapExactTokensForETH", usdt_in, to_bnb, rest),
                ],
                replace(
                    before,
                    wallet_usdt=before.wallet_usdt - usdt_in,
                    wallet_bnb=before.wallet_bnb + bnb_out,
                    pool_usdt=before.pool_usdt + usdt_in,
                    pool_bnb=before.pool_bnb - bnb_out,
                ),
            ),
        )

    def _make_scenarios(
        self,
        name: str,
        questions: tuple[str, str],
        steps: list[TaskStep],
        after: Holdings,
        *,
        facts: tuple[str, ...] = (),
    ) -> tuple[Scenario, ...]:
        category: Category = ("no tool", "one step", "several steps")[len(steps)]
        return tuple(
            Scenario(
                name=name,
                wording=wording,
                task=Task(
                    category=category,
                    kind="swap scenarios",
                    is_held_out=True,
                    base_prompt=self._base_prompt,
                    tools=tuple(_task_tool(function) for function in FUNCTIONS),
                    question=question,
                    steps=tuple(steps),
                    thought="I now know the final answer",
                    answer=" ".join(["Done.", *facts]),
                    facts=facts,
                ),
                after=after,
            )
            for wording, question in zip(("the note's", "base units"), questions, strict=True)
        )


def _task_tool(function: Function) -> TaskTool:
    return TaskTool(
        name=function.name,
        description=function.description,
        parameters=function.parameters,
        is_action=function.is_action,
        default_reply="",
    )


def _step(tool: str, **arguments: Argument) -> TaskStep:
    return TaskStep(thought=f"I use {tool}.", tool=tool, arguments=arguments, observation="")


def _swap(tool: str, amount_in: int, path: tuple[str, str], rest: dict[str, Argument]) -> TaskStep:
    return _step(
        tool,
        amountIn=amount_in,
        amountOutMin=rest["amountOutMin"],
        path=path,
        to=rest["to"],
        deadline=rest["deadline"],
    )
