"""The decisions of a lending pool's agent as one HTML page, in the style of reports."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from pyevm_agents.cli.demo.loan_texts import (
    describe_ballot,
    describe_run,
    format_balance,
    list_checks,
)
from pyevm_agents.reports.document import (
    Chapter,
    Document,
    Headline,
    ReportTable,
    make_number_columns,
    make_text_cell,
    make_text_columns,
)
from pyevm_agents.reports.html import as_html
from pyevm_agents.scenarios.loan.runs import CREDIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.scenarios.loan.demo import LoanDemo
    from pyevm_agents.scenarios.loan.runs import LoanRun

ANSWER = (
    "Each application is one transaction: the agent reads the DAO's criteria, an agent of its own "
    "makes the checks that they name, and the pool pays or denies by the score."
)


def build_page(runs: Sequence[LoanRun], demo: LoanDemo, *, model: Mapping[str, str]) -> str:
    """Return a page with a table of the decisions."""
    return as_html(_build_document(runs, demo, model), {}, {})


def _build_document(runs: Sequence[LoanRun], demo: LoanDemo, model: Mapping[str, str]) -> Document:
    ideal = sum(run.is_ideal for run in runs)
    gas = fmean(run.outcome.gas_used for run in runs if run.application is not None)
    decisions = [run.decision for run in runs]
    who = "the scripted ideal" if demo.is_ideal else model["name"]
    limit = f"a score of {demo.world.terms.score_limit}, of 100"
    return Document(
        title="Decisions of a lending pool's agent",
        headlines=(
            Headline(title="ended as the ideal", value=f"{ideal} of {len(runs)}"),
            Headline(title="approved", value=f"{decisions.count('approved')}"),
            Headline(title="denied", value=f"{decisions.count('denied')}"),
            Headline(title="gas of an application", value=f"{gas:,.0f}", notes=("the mean",)),
        ),
        answer=(ANSWER,),
        circumstances=(("model", who), ("sha256", model["sha256"]), ("limit", limit)),
        warnings=("Applicants are made up. The agents are no advice.",),
        chapters=(Chapter(name="decisions", title="Decisions", parts=(_build_table(runs, demo),)),),
        ending="Written by pyevm-agents demo --scenario loan.",
    )


def _build_table(runs: Sequence[LoanRun], demo: LoanDemo) -> ReportTable:
    texts = make_text_columns("Application", "Criteria", "Checks", "Decision")
    numbers = make_number_columns("Score", "Has now", "As the ideal")
    return ReportTable(
        title="Each application, and the vote",
        columns=(*texts, *numbers),
        rows=tuple(tuple(make_text_cell(text) for text in _list_cells(run, demo)) for run in runs),
    )


def _list_cells(run: LoanRun, demo: LoanDemo) -> Iterator[str]:
    made = run.outcome
    said = describe_ballot(run) if run.application is None else run.application.text
    who = f"{run.number}. {describe_run(run)}"
    yield f"{who}: “{said}”" if said else who
    yield run.criteria
    yield "; ".join(list_checks(run)) or "none"
    failure = [] if made.failure is None else [made.failure]
    yield "; ".join([run.decision, *failure, *run.differences])
    yield (made.find_answer(CREDIT) or "none").removeprefix("Score ").partition(" of ")[0]
    yield "none" if run.application is None else format_balance(made.balance, demo)
    yield "yes" if run.is_ideal else "no"
