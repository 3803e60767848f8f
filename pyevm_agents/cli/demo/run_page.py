"""The runs of the demo as one HTML page, in the style of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from pyevm_agents.cli.demo.run_demo_texts import (
    describe_confirmation,
    describe_digests,
    describe_log,
    describe_state,
    describe_validation,
    list_changes,
)
from pyevm_agents.cli.run_output import NUMBERS, describe_phase
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.reports.document import (
    Chapter,
    Document,
    Headline,
    ReportTable,
    make_text_cell,
    make_text_columns,
)
from pyevm_agents.reports.html import as_html
from pyevm_agents.scenarios.run.demo import MIN_SCORE
from pyevm_agents.scenarios.run.world import CAP_TOKENS, CURRENCY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyevm_agents.cli.demo.run_demo_texts import ShownRun
    from pyevm_agents.scenarios.run.world import RunWorld

ANSWER = (
    "A bookkeeper plans; one deployed agent reads each bill, another pays what it says. The "
    "operator confirms the dry run, all of it is one block, and a validator executes that again. "
    "Runs that break a limit are stopped before anything is spent."
)


def build_page(shown: Sequence[ShownRun], world: RunWorld, *, model: Mapping[str, str]) -> str:
    """Return a page with the phases, steps and receipts of each run."""
    return as_html(_build_document(shown, world, model), {}, {})


def _build_document(
    shown: Sequence[ShownRun], world: RunWorld, model: Mapping[str, str]
) -> Document:
    done, stopped = _split(shown)
    expected = sum(not each.outcome.differences for each in shown)
    receipts = sum(len(each.form["receipts"]) for each in done)
    unspent = sum(not list_changes(each.outcome) for each in stopped)
    return Document(
        title="Runs of agents in nine phases",
        headlines=(
            Headline(title="ended as expected", value=f"{expected} of {len(shown)}"),
            Headline(title="completed", value=f"{len(done)}"),
            Headline(title="stopped, nothing spent", value=f"{unspent} of {len(stopped)}"),
            Headline(title="receipts", value=f"{receipts}", notes=("of what was executed",)),
        ),
        answer=(ANSWER,),
        circumstances=(
            ("model", model["name"]),
            ("sha256", model["sha256"]),
            ("operator", to_checksum_address(world.people["operator"])),
            ("cap of a task", f"{CAP_TOKENS} {CURRENCY}"),
            ("trust needed", f"{MIN_SCORE:.2f}"),
        ),
        warnings=("Suppliers and bills are made up.",),
        chapters=(
            *(_build_chapter(each, world) for each in done),
            _build_stopped(stopped),
        ),
        ending="Written by pyevm-agents demo --scenario run.",
    )


def _split(shown: Sequence[ShownRun]) -> tuple[list[ShownRun], list[ShownRun]]:
    """Return the runs that completed, and the others."""
    done = [each for each in shown if each.form["status"] == "completed"]
    return done, [each for each in shown if each not in done]


def _build_chapter(shown: ShownRun, world: RunWorld) -> Chapter:
    return Chapter(
        name=shown.form["runId"],
        title=f"{shown.outcome.task.title}: {shown.outcome.task.goal}",
        parts=(
            _build_table("Phases", ("Phase", "Outcome"), _iter_phases(shown)),
            _build_table(
                "Steps of the agents",
                ("Step", "Agent", "After", "Description", "Result"),
                _iter_steps(shown),
            ),
            _build_table(
                "Receipts",
                ("Receipt", "Of", "What happened"),
                (
                    (each["receiptId"], each["type"], each["summary"])
                    for each in shown.form["receipts"]
                ),
            ),
            _build_table(
                "Read from the chain and the log", ("What", "It is"), _iter_facts(shown, world)
            ),
        ),
    )


def _build_stopped(stopped: Sequence[ShownRun]) -> Chapter:
    stops = (
        (
            f"{each.outcome.task.title}: {each.outcome.task.goal}",
            str(each.form["failedPhase"]),
            str(each.form["failure"]),
            "; ".join(list_changes(each.outcome)) or "nothing",
        )
        for each in stopped
    )
    states = (
        (
            each.outcome.task.title,
            describe_state(each.outcome.before),
            describe_state(each.outcome.after),
            describe_log(each.log_entry),
        )
        for each in stopped
    )
    return Chapter(
        name="stopped",
        title="Runs that were stopped",
        parts=(
            _build_table("Where and why", ("Run", "Stopped in", "Reason", "Spent"), stops),
            _build_table(
                "Read from the chain and the log", ("Run", "Before", "After", "Log"), states
            ),
        ),
    )


def _build_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> ReportTable:
    return ReportTable(
        title=title,
        columns=make_text_columns(*columns),
        rows=tuple(tuple(make_text_cell(text) for text in row) for row in rows),
    )


def _iter_phases(shown: ShownRun) -> Iterator[tuple[str, str]]:
    for phase in Phase:
        lines = describe_phase(shown.form, phase)
        yield f"{NUMBERS[phase]} {phase.value}", "; ".join(lines) or "done"


def _iter_steps(shown: ShownRun) -> Iterator[tuple[str, ...]]:
    results = {each["phase"]: each["result"] for each in shown.form["phases"]}
    made: Any = results[Phase.EXECUTE.value]["result"]["steps"]
    answers = {each["stepId"]: each["result"] or each["status"] for each in made}
    for step in results[Phase.PLAN.value]["steps"]:
        after = ", ".join(step["dependsOn"]) or "none"
        yield step["stepId"], step["agentSlug"], after, step["description"], answers[step["stepId"]]


def _iter_facts(shown: ShownRun, world: RunWorld) -> Iterator[tuple[str, str]]:
    outcome = shown.outcome
    if outcome.confirmation is not None:
        operator = world.people["operator"]
        yield "Confirmation", describe_confirmation(outcome.confirmation, operator)
    yield "Digest", describe_digests(outcome)
    yield "Validation", describe_validation(outcome) or "none"
    yield "Log", describe_log(shown.log_entry)
    for change in list_changes(outcome):
        yield "Changed", change
