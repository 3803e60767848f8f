"""`pyevm-agents demo --scenario loan`: decisions of a lending pool's agent, and a vote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.cli.demo.loan_texts import (
    describe_ballot,
    describe_run,
    format_balance,
    list_checks,
)
from pyevm_agents.cli.demo.output import (
    iter_ending_lines,
    print_beginning,
    print_decision,
    print_ideal_count,
)
from pyevm_agents.scenarios.loan.demo import LoanDemo, serialize_loans
from pyevm_agents.scenarios.loan.runs import CREDIT
from pyevm_agents.scenarios.loan.world import APPLICANTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.cli.demo.job import DemoJob
    from pyevm_agents.scenarios.loan.runs import LoanRun

STYLES = {"approved": "bold green", "denied": "bold red", "undone": "bold yellow", "voted": "bold"}


def run_loan_demo(job: DemoJob) -> None:
    """Deploy everything, decide on the applications, vote, and print the decisions.

    Raises: EngineFault: the model failed. AgentsError: the page can't be written, or the gas does
            not suffice for the loans before the story.
    """
    demo = LoanDemo.deploy(job.chain, is_ideal=job.options.ideal, report=job.watch.report)
    job.watch.stop()
    if not job.as_json:
        print_beginning(job.model, is_ideal=job.options.ideal)
    runs = []
    for run in demo.run_story():
        job.watch.stop()
        runs.append(run)
        if not job.as_json:
            print_run(run, demo)

    def build_page() -> str:
        from pyevm_agents.cli.demo import loan_page  # noqa: PLC0415 - imports jinja2

        return loan_page.build_page(runs, demo, model=job.model)

    job.finish(
        demo.chain,
        "the decisions of --scenario loan",
        serialize=lambda seconds: serialize_loans(runs, demo, model=job.model, seconds=seconds),
        print_result=lambda seconds: _print_result(runs, seconds),
        build_page=build_page,
    )


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
