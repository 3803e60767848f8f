"""The questions of the council demo as one HTML page, in the style of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.cli.demo.council_texts import (
    SHARE_COLUMNS,
    describe_step,
    format_ether,
    format_score,
    list_share_cells,
    list_verdicts,
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyevm_agents.reports.document import Column
    from pyevm_agents.scenarios.council.cases import CouncilCase, CouncilStep
    from pyevm_agents.scenarios.council.demo import CouncilDemo

ANSWER = (
    "Five agents commit to answers under a bond, and reveal them: three ask the model, which reads "
    "records, one lies, and one never reveals. Votes decide the first question, for a market. A "
    "judge decides the second; its decision is disputed and overturned."
)


def build_page(demo: CouncilDemo, *, model: Mapping[str, str]) -> str:
    """Return a page with the phases of each question, and who got what."""
    return as_html(_build_document(demo, model), {}, {})


def _build_document(demo: CouncilDemo, model: Mapping[str, str]) -> Document:
    met = sum(each.is_met for each in demo.expectations)
    total = sum(case.total_in for case in demo.cases)
    back = sum(case.total_out for case in demo.cases)
    answers = ", ".join(case.answer.decode(errors="replace") for case in demo.cases)
    return Document(
        title="Questions to a council of agents",
        headlines=(
            Headline(title="came out as expected", value=f"{met} of {len(demo.expectations)}"),
            Headline(title="answers", value=answers),
            Headline(title="money in", value=format_ether(total), notes=("ETH",)),
            Headline(title="money out", value=format_ether(back), notes=("ETH",)),
        ),
        answer=(ANSWER,),
        circumstances=(("model", model["name"]), ("sha256", model["sha256"])),
        warnings=("The questions and the records are made up.",),
        chapters=(
            *(_build_chapter(case) for case in demo.cases),
            Chapter(
                name="end", title="Market, scores, expectations", parts=tuple(_list_ends(demo))
            ),
        ),
        ending="Written by pyevm-agents demo --scenario council.",
    )


def _build_chapter(case: CouncilCase) -> Chapter:
    shares = _make_table(
        f"In {format_ether(case.total_in)}, out {format_ether(case.total_out)} ETH",
        (*make_text_columns(*SHARE_COLUMNS[:3]), *make_number_columns(*SHARE_COLUMNS[3:])),
        (list_share_cells(case, share) for share in case.list_shares()),
    )
    decided = _make_table(
        "Who decided", make_text_columns("Decision"), ((text,) for text in list_verdicts(case))
    )
    start = case.steps[0].timestamp
    phases = _make_table(
        "The phases, a transaction a row",
        (
            *make_text_columns("Phase", "What happened", "The model"),
            *make_number_columns("Second", "Block", "Gas"),
        ),
        (_list_step_cells(step, start) for step in case.steps),
    )
    title = f"Question {case.number}: {case.question}"
    return Chapter(name=f"question-{case.number}", title=title, parts=(decided, shares, phases))


def _list_step_cells(step: CouncilStep, start: int) -> Iterator[str]:
    yield step.phase
    yield describe_step(step) + (f": reverted: {step.failure}" if step.failure else "")
    said = (
        f"says “{one.answer}”" if one.answer is not None else f"{one.action}: {one.observation}"
        for one in step.steps
    )
    yield "; ".join(said)
    yield f"{step.timestamp - start:,}"
    yield f"{step.block_number}"
    yield f"{step.gas_used:,}"


def _list_ends(demo: CouncilDemo) -> Iterator[ReportTable]:
    yield _make_table(
        "What the market paid",
        (*make_text_columns("Who"), *make_number_columns("ETH")),
        ((name, format_ether(wei)) for name, wei in demo.paid_by_market.items()),
    )
    yield _make_table(
        "Scores in ERC-8004's registry, of 100",
        (*make_text_columns("Agent"), *make_number_columns("Before", "After")),
        (
            (name, format_score(before), format_score(demo.scores_after[name]))
            for name, before in demo.scores_before.items()
        ),
    )
    yield _make_table(
        "What was expected",
        make_text_columns("Expected", "Came true", "Found"),
        ((each.text, "yes" if each.is_met else "no", each.found) for each in demo.expectations),
    )


def _make_table(
    title: str, columns: tuple[Column, ...], rows: Iterable[Iterable[str]]
) -> ReportTable:
    cells = (tuple(make_text_cell(text) for text in row) for row in rows)
    return ReportTable(title=title, columns=columns, rows=tuple(cells))
