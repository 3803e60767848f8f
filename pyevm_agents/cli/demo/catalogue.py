"""The scenarios of `pyevm-agents demo` by name, and the options of each."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents import __version__
from pyevm_agents.chain import Chain
from pyevm_agents.chain.fork_setup import build_fork_config
from pyevm_agents.cli.demo.bill_runs import run_bills
from pyevm_agents.cli.trace import format_line
from pyevm_agents.devnet.node_process import (
    find_anvil,
    find_npm_anvil,
    read_version,
    run_anvil,
    run_plain_node,
)
from pyevm_agents.display import pluralize
from pyevm_agents.forking.options import ForkOptions
from pyevm_agents.scenarios.callback.report import CallbackNode, run_callback
from pyevm_agents.scenarios.council.report import run_council
from pyevm_agents.scenarios.loan.report import run_loan
from pyevm_agents.scenarios.swap.demo import SwapDemo, change_chain_id
from pyevm_agents.scenarios.swap.report import run_swap
from pyevm_agents.scenarios.swap.world import SWAP_CHAIN_ID
from pyevm_agents.scenarios.trading.report import run_trading
from pyevm_agents.scenarios.wallet_report import deploy_wallet, run_wallet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.cli.demo.options import DemoOptions
    from pyevm_agents.cli.demo.review import DemoReview
    from pyevm_agents.models import LlamaModel, Store
    from pyevm_agents.scenarios.report import ScenarioReport
    from pyevm_agents.scenarios.setting import ScenarioSetting

EACH_STEP = format_line(
    "By callback",
    "each step is a transaction of its own: what was done stands if a later one fails",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoJob:
    """The inputs of a scenario, from the command line."""

    setting: ScenarioSetting
    options: DemoOptions
    prompt: str
    review: DemoReview | None
    """Asks before the wallet's run; None to run at once."""

    llama: LlamaModel
    store: Store


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoScenario:
    """A scenario of the command."""

    shows: str
    """One line."""

    run: Callable[[DemoJob], ScenarioReport]
    is_fault: bool = False
    """Whether a difference from the ideal is a fault, in the exit status."""


def _run_wallet(job: DemoJob) -> ScenarioReport:
    wallet = deploy_wallet(job.setting)
    review = None if job.review is None else job.review.require_yes(wallet, job.prompt)
    before = job.store.session.get("hits", 0)
    report = run_wallet(job.setting, wallet, job.prompt, review)
    # The run itself repeats the generations of a simulation.
    hits = job.store.session.get("hits", 0) if review is None else before
    steps = len(report.transactions[0].steps)
    cached = f"{hits} of {pluralize(steps, 'generation')} cached in {job.store.path}"
    return replace(
        report, details={**report.details, "fromStore": hits}, remark=cached if hits else ""
    )


def _run_callback(job: DemoJob) -> ScenarioReport:
    setting = job.setting
    wallet = deploy_wallet(setting)
    review = None if job.review is None else job.review.require_yes(wallet, job.prompt, EACH_STEP)
    with _open_node(job) as node:
        return run_callback(setting, wallet, node, job.prompt, review)


@contextmanager
def _open_node(job: DemoJob) -> Iterator[CallbackNode]:
    """Run anvil, else this program's node without the executor.

    Raises: AnvilError: the node does not start.
    """
    setting = job.setting
    program = find_anvil() or find_npm_anvil(Path.cwd())
    if program is None:
        name = f"pyevm-agents {__version__} without the executor"
        setting.show_status(
            f"no anvil on the PATH or in node_modules (npm install @foundry-rs/anvil): using {name}"
        )
        with run_plain_node() as url:
            yield CallbackNode(url=url, name=name, llama=job.llama)
        return
    name = f"anvil {read_version(program)}"
    setting.show_status(f"starting {name}")
    with run_anvil(program, "--hardfork", "prague") as url:
        yield CallbackNode(url=url, name=name, llama=job.llama)


def _run_swap(job: DemoJob) -> ScenarioReport:
    with ExitStack() as stack:
        return run_swap(job.setting, _open_swap(job, stack))


def _open_swap(job: DemoJob, stack: ExitStack) -> SwapDemo:
    """Deploy everything on a separate chain, or on a fork, which `stack` closes.

    Raises: ConfigError: an option's value is unfit. RemoteFault: the fork's node does not answer.
    """
    chain, options, report = job.setting.open_chain(), job.options, job.setting.show_status
    if options.fork_url is None or options.router is None or options.token is None:
        own = change_chain_id(chain, options.chain_id or SWAP_CHAIN_ID)
        return SwapDemo.deploy(own, report=report)
    block = ForkOptions.from_text(options.fork_url).open()
    stack.callback(block.close)
    config = build_fork_config(chain.config, block)
    gas_limit = max(config.block_gas_limit, chain.config.block_gas_limit)
    fork = Chain(
        replace(config, block_gas_limit=gas_limit),
        chain.models,
        numeric_models=chain.numeric_models,
        accounts=chain.genesis_accounts,
        fork=block,
    )
    stack.callback(fork.close)
    router, token = Address(options.router), Address(options.token)
    return SwapDemo.deploy_on_fork(fork, router=router, token=token, report=report)


SCENARIOS = {
    "wallet": DemoScenario(
        shows="an instruction to a wallet's agent in one transaction, and one that is undone",
        run=_run_wallet,
    ),
    "callback": DemoScenario(
        shows="the wallet's instruction embedded, then by an oracle on another chain",
        run=_run_callback,
    ),
    "swap": DemoScenario(
        shows="five requests to an agent for Uniswap V2 whose tools are made from the contracts",
        run=_run_swap,
    ),
    "trading": DemoScenario(
        shows="an agent whose tools are models decides on posts: sentiment, forecast, trade",
        run=lambda job: run_trading(job.setting, job.options.posts),
    ),
    "loan": DemoScenario(
        shows="a lending pool's agent decides on applications by the criteria of its DAO",
        run=lambda job: run_loan(job.setting),
    ),
    "run": DemoScenario(
        shows="two agents pay bills from a treasury in nine phases, and three runs are stopped",
        run=lambda job: run_bills(job.setting),
        is_fault=True,
    ),
    "council": DemoScenario(
        shows="five agents answer two questions under bonds, for a market and with a dispute",
        run=lambda job: run_council(job.setting),
        is_fault=True,
    ),
}
