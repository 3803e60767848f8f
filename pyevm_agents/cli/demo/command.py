"""`pyevm-agents demo`: a run of the wallet agent."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.cache_folder import get_facts_folder
from pyevm_agents.cli.agent.extra import require_agents_extra
from pyevm_agents.cli.demo.callback_demo import run_callback_demo
from pyevm_agents.cli.demo.council_demo import run_council_demo
from pyevm_agents.cli.demo.job import DemoJob, DemoOptions, add_demo_options
from pyevm_agents.cli.demo.loan_demo import run_loan_demo
from pyevm_agents.cli.demo.output import print_atomicity, print_run
from pyevm_agents.cli.demo.review import DemoReview
from pyevm_agents.cli.demo.run_demo import run_run_demo
from pyevm_agents.cli.demo.swap_demo import add_swap_options, run_swap_demo
from pyevm_agents.cli.demo.trading_demo import run_trading_demo
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.cli.options.models import (
    adapter_option,
    gas_limit_option,
    is_given,
    model_option,
    schedule_option,
)
from pyevm_agents.cli.output import out
from pyevm_agents.cli.record import describe_fixture_file, require_fixture_path
from pyevm_agents.cli.run_preview import yes_option
from pyevm_agents.cli.store import store_option, warn_run
from pyevm_agents.cli.tools.inspect import SlowStatus
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.models.store.store import MEMORY, open_run_store
from pyevm_agents.recordings import record_chain, write_fixture
from pyevm_agents.scenarios.wallet import (
    DEFAULT_INSTRUCTION,
    WalletDemo,
    require_instruction,
    run_atomic_demo,
    serialize_run,
)

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain
    from pyevm_agents.cli.demo.swap_demo import SwapOptions
    from pyevm_agents.cli.output import StatusLine
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter, Store
    from pyevm_agents.scenarios.wallet import DemoRun


SUBJECTS = {
    "swap": "swap has five requests of its own; give other instructions by `pyevm-agents tools "
    "deploy` and `tools ask`",
    "trading": "trading has posts of its own; omit it",
    "loan": "loan has applications of its own; omit it",
    "run": "run has tasks of its own; omit it",
    "council": "council has questions of its own; omit it",
}
"""Scenarios that have requests of their own, and what to do."""

DECISIONS = {
    "trading": run_trading_demo,
    "loan": run_loan_demo,
    "run": run_run_demo,
    "council": run_council_demo,
}
"""Scenarios with a page, and what runs them."""


@click.command()
@click.option(
    "--scenario",
    type=click.Choice(["wallet", "callback", "swap", "trading", "loan", "run", "council"]),
    default="wallet",
    show_default=True,
    help="wallet: the agent runs in one transaction. callback: it also runs by an oracle on anvil, "
    "or on this program's node without the executor if there is no anvil. swap: an agent for "
    "Uniswap V2, whose tools are made from the contracts, gets five requests. trading: an "
    "agent whose tools are models decides on posts. loan: a lending pool's agent decides on "
    "applications by the criteria of its DAO. run: two agents pay bills from a treasury in nine "
    "phases, and three runs are stopped. council: five agents answer two questions, for a market "
    "and with a dispute.",
)
@click.option(
    "--prompt",
    default=DEFAULT_INSTRUCTION,
    show_default=True,
    metavar="TEXT",
    help="The instruction of the wallet's owner. Tokens are symbols (USDC, DAI) or addresses; "
    "{USDC} and {DAI} become the addresses. Amounts are whole tokens.",
)
@yes_option
@add_swap_options
@add_demo_options
@model_option
@adapter_option
@click.option(
    "--threads",
    type=click.IntRange(1, 512),
    metavar="N",
    help="Threads of the engine. The result does not depend on it.  "
    "[default: the number of cores, at most 4]",
)
@schedule_option
@gas_limit_option
@store_option
@click.option("--no-store", is_flag=True, help="Neither read nor write the generation store.")
@click.option(
    "--record",
    "record_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the run's chain to a file that `pyevm-agents replay FILE` checks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as one JSON object.")
def demo(  # noqa: PLR0913 - one for each option
    prompt: str,
    model: ModelChoice,
    adapter: Adapter,
    threads: int | None,
    store_path: Path | None,
    *,
    scenario: str,
    assumes_yes: bool,
    swap: SwapOptions,
    options: DemoOptions,
    schedule: ScheduleFile | None,
    gas_limit: int,
    record_path: Path | None,
    no_store: bool,
    as_json: bool,
) -> None:
    """Run a wallet agent on a real model, in one transaction.

    Deploys two tokens, a liquidity pool, tools and the wallet agent. Sends the instruction.
    Prints the agent's steps, the balances and the gas. Then runs an agent whose second tool
    reverts: all balances stay unchanged.

    With --prompt, the run is simulated first: its transfers, the approvals that stay, the balances,
    and where amounts and accounts differ from the instruction. Then it asks whether to send.
    Without a terminal a run that differs is not sent, and the exit status is 4; --yes sends it.

    With --scenario callback, runs the instruction a second time by an oracle, on a chain without
    the executor, and compares both: transactions, gas, latency, fees.

    With --scenario swap, inspects a router, a token and a contract with an owner, deploys an agent
    with their functions as tools, and sends it five requests: a balance, a quote, a swap, a
    function that it cannot call, and a swap back that needs an approval.

    With --scenario trading, deploys a trading desk on Uniswap V2, numeric models as tools, and two
    agents, and decides on each post in one transaction: sentiment, forecast, weights, trade. Posts
    and prices are made up.

    With --scenario loan, deploys a lending pool with a DAO, an agent that decides on applications,
    another that scores the applicants, and a third with delegated votes. Each application is one
    transaction: read the criteria, score, pay or deny. In between, the DAO votes other criteria in.

    With --scenario run, one agent reads bills and another pays them from a treasury, in the nine
    phases of a run: the operator confirms the dry run, the execution gives the same digest, and a
    validator answers in ERC-8004's registry. Then three runs are stopped, and nothing is spent: by
    the budget, by the treasury's cap, by the trust that an agent lacks. The exit status is 1 if a
    run ends otherwise.

    With --scenario council, five agents answer two questions under bonds: three ask the model, one
    lies, one never reveals. Votes decide the first question, which resolves a prediction market. A
    judge decides the second; it is disputed, and another judge overturns it. Rewards, bonds and
    scores are read from the chain. The exit status is 1 if something comes out otherwise.

    With wallet and callback, the exit status is 4 if the agent does not do what the instruction
    asks. Otherwise it is 0 even if the transaction reverts; see `status` in the JSON.
    """
    if no_store and store_path is not None:
        raise click.UsageError("--store and --no-store exclude each other; omit one")
    _check_scenario(scenario, swap, options, store_path, record_path)
    require_instruction(prompt)
    choice = model.with_adapter(adapter)
    watch = SlowStatus()
    with (
        watch,
        open_run_store(
            MEMORY if no_store or scenario == "callback" else store_path, report=warn_run
        ) as store,
        choice.open(
            threads=threads, kept_facts=get_facts_folder(), progress=watch.on_progress
        ) as llama,
    ):
        facts = llama.profile_facts
        chain = create_development_chain(
            llama,
            facts,
            choice.build_profile(facts),
            store=store,
            schedule=schedule,
            block_gas_limit=gas_limit,
        )
        described = {"name": chain.config.models[0].name, "sha256": facts.digest.hex()}
        keep = partial(_record, record_path, watch)
        job = DemoJob(
            chain=chain, options=options, model=described, watch=watch, keep=keep, as_json=as_json
        )
        review = None
        if is_given(click.get_current_context(), "prompt"):
            review = DemoReview(assumes_yes=assumes_yes, as_json=as_json, watch=watch)
        if scenario == "callback":
            run_callback_demo(
                prompt, llama, chain, model=described, watch=watch, as_json=as_json, review=review
            )
        elif scenario == "swap":
            run_swap_demo(chain, swap, model=described, watch=watch, keep=keep, as_json=as_json)
        elif scenario in DECISIONS:
            DECISIONS[scenario](job)
        else:
            run = _run_wallet(job, prompt, review, store)
            if not as_json:
                atomic = run_atomic_demo(llama, schedule=schedule, block_gas_limit=gas_limit)
                print_atomicity(*atomic)
            if run.is_not_done:
                sys.exit(NOT_DONE_STATUS)


def _run_wallet(job: DemoJob, prompt: str, review: DemoReview | None, store: Store) -> DemoRun:
    """Run the wallet's agent, after a review if there is one; print the run, and return it."""
    job.watch.show_status("deploying tokens, pool, tools and the wallet agent")
    wallet = WalletDemo(job.chain)
    trial = None if review is None else review.require_yes(wallet, prompt)
    hits = store.session.get("hits", 0)  # The run itself repeats its simulation.
    started = time.monotonic()
    run = wallet.run(prompt)
    seconds = time.monotonic() - started
    if trial is None:
        hits = store.session.get("hits", 0)
    else:
        seconds += trial.seconds
    job.keep(job.chain, run.instruction)
    job.watch.stop()
    if job.as_json:
        form = serialize_run(run, wallet, model=job.model, seconds=seconds)
        form["fromStore"] = hits
        form |= {} if trial is None else trial.serialize()
        click.echo(json.dumps(form, indent=2, ensure_ascii=False))
    else:
        print_run(run, wallet, job.model, seconds)
        _print_hits(store, hits, len(run.steps))
    return run


def _record(path: Path | None, watch: StatusLine, chain: Chain, content: str) -> None:
    """Write a run's chain to a file, if there is a path."""
    if path is None:
        return
    fixture = record_chain(chain, name="demo", comment=f"A run of `pyevm-agents demo`: {content}")
    write_fixture(fixture, path)
    watch.show_status(f"written: {describe_fixture_file(path, fixture)}")


def _print_hits(store: Store, hits: int, steps: int) -> None:
    if hits:
        out.print(f"\n[dim]{hits} of {steps} generations cached in {store.path}[/]")


def _check_scenario(
    scenario: str,
    swap: SwapOptions,
    options: DemoOptions,
    store_path: Path | None,
    record_path: Path | None,
) -> None:
    """Reject options of other scenarios, and a file that can't be written.

    Raises: click.UsageError.
    """
    if scenario in SUBJECTS:
        _refuse_prompt(scenario)
    if scenario == "swap":
        swap.require_consistent()
    else:
        swap.require_none()
    _check_page_options(scenario, options, record_path)
    if scenario == "callback":
        _refuse_wallet_options(store_path, record_path)
    if record_path is not None:
        require_fixture_path(record_path)


def _check_page_options(scenario: str, options: DemoOptions, record_path: Path | None) -> None:
    """Reject options of scenarios with a page that do not fit.

    Raises: click.UsageError.
    """
    if scenario not in DECISIONS:
        options.require_none()
        return
    options.require_consistent(record_path)
    if scenario != "trading":
        options.require_no_posts()
    if scenario in {"run", "council"}:
        options.require_no_ideal()
    if scenario == "run":
        require_agents_extra()


def _refuse_prompt(scenario: str) -> None:
    """Reject an instruction for a scenario that has its own.

    Raises: click.UsageError.
    """
    if is_given(click.get_current_context(), "prompt"):
        raise click.UsageError(
            f"--prompt is for --scenario wallet and callback: {SUBJECTS[scenario]}"
        )


def _refuse_wallet_options(store_path: Path | None, record_path: Path | None) -> None:
    """Reject options that the scenario `callback` does not have.

    Raises: click.UsageError.
    """
    if store_path is not None:
        raise click.UsageError(
            "--store is for --scenario wallet, swap, trading, loan, run and council: callback "
            "measures inference"
        )
    if record_path is not None:
        raise click.UsageError(
            "--record is for --scenario wallet, swap, trading, loan, run and council; use "
            "`pyevm-agents record --scenario callback`"
        )
