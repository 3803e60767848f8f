"""`pyevm-agents demo --scenario loan`: decisions of a lending pool's agent, and a vote."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from pyevm_agents.atomic_files import write_output_file
from pyevm_agents.cli.demo_output import (
    iter_ending_lines,
    print_beginning,
    print_decision,
    print_ideal_count,
)
from pyevm_agents.cli.loan_texts import (
    describe_ballot,
    describe_run,
    format_balance,
    list_checks,
)
from pyevm_agents.devnet.loan_demo import LoanDemo, serialize_loans
from pyevm_agents.devnet.loan_runs import CREDIT
from pyevm_agents.devnet.loan_world import APPLICANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyevm_agents.chain import Chain
    from pyevm_agents.cli.tools.inspect import SlowStatus
    from pyevm_agents.cli.trading_demo import TradingOptions
    from pyevm_agents.devnet.loan_runs import LoanRun

STYLES = {"approved": "bold green", "denied": "bold red", "undone": "bold yellow", "voted": "bold"}


def run_loan_demo(  # noqa: PLR0913 - keyword arguments
    chain: Chain,
    options: TradingOptions,
    *,
    model: Mapping[str, str],
    watch: SlowStatus,
    keep: Callable[[Chain, str], None],
    as_json: bool,
) -> None:
    """Deploy everything, decide on the applications, vote, and print the decisions.

    Input:
        chain: has the model and the account.
        model: its name and digest.
        keep: gets the chain of the runs, and what they are.

    Raises: EngineFault: the model failed. AgentsError: the page can't be written, or the gas does
            not suffice for the loans before the story.
    """
    started = time.monotonic()
    demo = LoanDemo.deploy(chain, is_ideal=options.ideal, report=watch.report)
    watch.stop()
    if not as_json:
        print_beginning(model, is_ideal=options.ideal)
    runs = []
    for run in demo.run_story():
        watch.stop()
        runs.append(run)
        if not as_json:
            print_run(run, demo)
    seconds = time.monotonic() - started
    if as_json:
        form = serialize_loans(runs, demo, model=model, seconds=seconds)
        click.echo(json.dumps(form, indent=2, ensure_ascii=False))
    else:
        _print_result(runs, seconds)
    if options.html is not None:
        from pyevm_agents.cli.loan_page import build_page  # noqa: PLC0415 - imports jinja2

        write_output_file(options.html, build_page(runs, demo, model=model))
        watch.show_status(f"written: {options.html}")
    keep(demo.chain, "the decisions of --scenario loan")


def print_run(run: LoanRun, demo: LoanDemo) -> None:
    """Print an application, or a vote, and the decision on it."""
    print_decision(f"{run.number}  {describe_run(run)}", _iter_lines(run, demo))


def _iter_lines(run: LoanRun, demo: LoanDemo) -> Iterator[tuple[str, str, str]]:
    """Yield labels, texts and styles."""
    made = run.outcome
    if run.application is not None:
        yield "Writes", run.application.text, ""
        yield "History", APPLICANTS[run.application.applicant].history, ""
    yield "Criteria", run.criteria, ""
    for text in list_checks(run):
        yield "Check", text, ""
    if (score := made.find_answer(CREDIT)) is not None:
        yield "Score", score.removeprefix("Score "), ""
    if (ballot := describe_ballot(run)) is not None:
        yield "Vote", ballot, ""
    yield "Decision", run.decision, STYLES[run.decision]
    if made.failure is not None:
        yield "Undone", made.failure, "red"
    if run.application is not None:
        yield "Has now", format_balance(made.balance, demo), ""
    yield from iter_ending_lines(made, run.differences)


def count_decisions(runs: Sequence[LoanRun]) -> str:
    """Return how many applications were approved, denied and undone."""
    found = [run.decision for run in runs]
    return ", ".join(f"{found.count(name)} {name}" for name in ("approved", "denied", "undone"))


def _print_result(runs: Sequence[LoanRun], seconds: float) -> None:
    ideal = sum(run.is_ideal for run in runs)
    print_ideal_count(ideal, len(runs), seconds, count_decisions(runs))
