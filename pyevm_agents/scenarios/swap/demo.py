"""The five requests of `swap_requests` to an agent whose tools the analysis made.

Nothing here prints. Reported balances are read from the chain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from eth_utils import to_checksum_address

from precompiles.address_handles import ACCOUNT_HANDLE, AddressBook
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import find_answer, require_success
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Chain
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.scenarios.ideal_runs import explain_outcome
from pyevm_agents.scenarios.recorded import Scenario, require_scenario, restart_from_state
from pyevm_agents.scenarios.swap.agent import deploy_swap_agent, extract_calls
from pyevm_agents.scenarios.swap.market import (
    describe_world,
    fund_from_pool,
    open_market,
)
from pyevm_agents.scenarios.swap.requests import (
    REQUESTS,
    CallLimits,
    ExpectedCall,
    build_instruction,
    list_differences,
    list_expected_calls,
)
from pyevm_agents.scenarios.swap.world import ONE_NATIVE, SWAP_CHAIN_ID, WRAPPED, SwapWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI
    from eth_typing import Address

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.contract_intelligence.tool_plan import PlannedTool
    from pyevm_agents.scenarios.swap.agent import SwapAgent
    from pyevm_agents.scenarios.swap.market import SwapMarket

Balances = dict[str, dict[str, int]]
"""Base units by symbol, of the account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapRun:
    """One request and the results."""

    name: str
    """Of `REQUESTS`."""

    instruction: str
    transaction_hash: bytes
    block_number: int
    computation: ComputationAPI
    failure: str | None
    """The reason of the revert; None if it succeeded."""

    gas_used: int
    steps: tuple[AgentStep, ...]
    answer: str | None
    """Also of a run that was undone since it is not done; None if it failed for another reason."""

    calls: tuple[ExpectedCall, ...]
    expected: tuple[ExpectedCall, ...]
    differences: tuple[str, ...]
    """How the run differs from the ideal; none if it is the ideal."""

    before: Balances
    after: Balances

    @property
    def is_success(self) -> bool:
        """Whether the transaction did not revert."""
        return self.failure is None

    @property
    def is_ideal(self) -> bool:
        """Whether the run ended as the ideal."""
        return not self.differences


class SwapDemo:
    """A router, a token, a switch, and an agent that acts there."""

    def __init__(self, sender: LocalAccount, market: SwapMarket, agent: SwapAgent) -> None:
        """Use deployed contracts; see `deploy` and `deploy_on_fork`."""
        self._sender = sender
        self.market = market
        self.agent = agent

    @classmethod
    def deploy(cls, chain: Chain, *, report: Callable[[str], None] = lambda _: None) -> Self:
        """Deploy everything on a chain whose development account has native currency.

        Input:  report: gets a text at each step.
        """
        sender = LocalAccount(chain)
        symbol = get_chain_metadata(chain.config.chain_id).native_symbol
        report("deploying Uniswap V2, tokens and pools")
        world = SwapWorld(sender, native_symbol=symbol)
        market = describe_world(world)
        return cls(sender, market, deploy_swap_agent(sender, market, world.fund, report=report))

    @classmethod
    def deploy_on_fork(
        cls,
        chain: Chain,
        *,
        router: Address,
        token: Address,
        report: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Deploy an agent for a router and a token of a fork.

        Input:
            chain: with native currency in the development account.
            report: gets a text at each step.

        Raises: ConfigError: as `open_market` and `fund_from_pool`. RemoteFault: the remote chain
                does not answer.
        """
        sender = LocalAccount(chain)
        symbol = get_chain_metadata(chain.config.chain_id).native_symbol
        market = open_market(sender, router, token, native_symbol=symbol)
        agent = deploy_swap_agent(
            sender, market, lambda account: fund_from_pool(market, account), report=report
        )
        return cls(sender, market, agent)

    @property
    def chain(self) -> Chain:
        """The chain on which the agent runs."""
        return self._sender.chain

    @property
    def tools(self) -> Sequence[tuple[Address, PlannedTool]]:
        """The agent's tools with their addresses."""
        plan = self.agent.plan
        return [] if plan is None else [*zip(self.agent.functions, plan.tools, strict=True)]

    @property
    def unit(self) -> Mapping[str, int]:
        """Base units of one whole token or unit of the native currency, by symbol."""
        return {
            self.market.native_symbol: ONE_NATIVE,
            self.market.token_symbol: self.market.token_unit,
        }

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Display names of contracts and accounts, by checksummed address."""
        market, plan = self.market, self.agent.plan
        names = {market.wrapped: WRAPPED, market.token.address: market.token_symbol}
        names |= {each.address: each.artifact.name for each in (market.router, market.switch)}
        names |= {tool: function.name for tool, function in self.agent.functions.items()}
        names |= {self.agent.address: "OwnedAgent", self.agent.account: ACCOUNT_HANDLE}
        handles = () if plan is None else AddressBook(plan.base_prompt, ()).handles
        shown = {address: name for name, address in handles}
        return shown | {str(to_checksum_address(place)): name for place, name in names.items()}

    def move_to(self, chain: Chain) -> None:
        """Go on on another chain that has the same contracts."""
        self._sender.chain = chain

    def read_balances(self) -> Balances:
        """Return the account's balances."""
        account, market = self.agent.account, self.market
        native = self.chain.state().get_balance(account)
        balances = {
            market.native_symbol: int(native), market.token_symbol: market.read_balance(account),
        }  # fmt: skip
        return {ACCOUNT_HANDLE: balances}

    def run_all(self) -> Iterator[SwapRun]:
        """Send the requests, each in one transaction, one after the other.

        Raises: EngineFault: the model failed.
        """
        for name in REQUESTS:
            yield self.run(name)

    def run(self, name: str) -> SwapRun:
        """Send a request as the agent's owner, in one transaction.

        Raises: EngineFault: the model failed.
        """
        market, agent = self.market, self.agent
        instruction = build_instruction(name, market)
        before = self.read_balances()
        time = self.chain.build_next_header().timestamp
        limits = CallLimits(slippage_bps=agent.slippage_bps, deadline=time + agent.deadline_seconds)
        expected = list_expected_calls(market, agent.account, name, limits)
        artifact = load_artifact("OwnedAgent")
        sent = self._sender.send(agent.address, artifact.encode_call("instruct", instruction))
        computation = sent.computation
        answer = find_answer(computation, lambda output: artifact.decode_result("instruct", output))
        calls = extract_calls(computation, market, agent)
        return SwapRun(
            name=name,
            instruction=instruction,
            transaction_hash=sent.hash,
            block_number=sent.block.number,
            computation=computation,
            failure=explain_outcome(sent),
            gas_used=sent.receipt.gas_used,
            steps=extract_agent_steps(computation),
            answer=answer,
            calls=calls,
            expected=expected,
            differences=list_differences(
                market, agent.account, expected=expected, calls=calls, answer=answer
            ),
            before=before,
            after=self.read_balances(),
        )


def change_chain_id(chain: Chain, chain_id: int) -> Chain:
    """Return a new chain with the same models and genesis accounts under another chain ID.

    Raises: ConfigError: an invalid chain ID.
    """
    config = replace(chain.config, chain_id=chain_id)
    return Chain(
        config,
        chain.models,
        numeric_models=chain.numeric_models,
        accounts=chain.genesis_accounts,
    )


# -- recording -- #


def _build_swap(building: Chain) -> Chain:
    demo = SwapDemo.deploy(change_chain_id(building, SWAP_CHAIN_ID))
    chain = restart_from_state(demo.chain)
    demo.move_to(chain)
    for run in demo.run_all():
        who = f"the agent's run of {run.instruction!r}"
        if run.expected:
            require_success(run.computation, who)
        require_scenario(run.is_ideal, f"{who} is not the ideal: {'; '.join(run.differences)}")
    return chain


SWAP = Scenario(
    comment="An agent for Uniswap V2 whose tools come from an analysis of the contracts: a "
    "balance, a quote, a swap, a function that its account cannot call, and a swap back with the "
    "approval that it needs.",
    make=_build_swap,
)
"""The scenario `swap` of `chain_fixtures/`."""
