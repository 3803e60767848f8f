"""Parts of reports: an agent's steps as entries, balances and gas as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.language_model import NAT
from precompiles.outcome import is_done
from pyevm_agents.agents.trace import find_closest_step
from pyevm_agents.display import format_margin
from pyevm_agents.reports.document import (
    Entry,
    EntryList,
    ReportTable,
    Tone,
    make_number_columns,
    make_text_cell,
    make_text_columns,
)
from pyevm_agents.scenarios.texts import format_tokens, format_whole_tokens, replace_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.reports.document import Column
    from pyevm_agents.scenarios.report import AgentTransaction

REASON = "reason="
"""Before the reason of a revert within another."""


def build_table(
    title: str, columns: tuple[Column, ...], rows: Iterable[Iterable[str]]
) -> ReportTable:
    """Return a table of texts."""
    cells = (tuple(make_text_cell(text) for text in row) for row in rows)
    return ReportTable(title=title, columns=columns, rows=tuple(cells))


def build_balance_table(
    before: Mapping[str, Mapping[str, int]],
    after: Mapping[str, Mapping[str, int]],
    unit: Mapping[str, int],
) -> ReportTable:
    """Return a table of the balances before and after, in whole tokens."""
    columns = (
        *make_text_columns("Account", "Token"),
        *make_number_columns("before", "after", "change"),
    )
    return build_table(
        "Balances",
        columns,
        (
            (
                place,
                symbol,
                format_tokens(old, unit[symbol]),
                format_tokens(after[place][symbol], unit[symbol]),
                format_tokens(
                    after[place][symbol] - old, unit[symbol], sign=after[place][symbol] != old
                ),
            )
            for place, tokens in before.items()
            for symbol, old in tokens.items()
        ),
    )


def list_step_lists(
    steps: Sequence[AgentStep], names: Mapping[str, str], unit: Mapping[str, int]
) -> list[EntryList]:
    """Return the entries of each step of a run.

    Input:
        names: display names by checksummed address.
        unit: base units of a whole token, by symbol.
    """
    closest = find_closest_step(steps)
    return [
        EntryList(
            title=f"{'Nested step' if step.depth else 'Step'} {number}",
            entries=(
                *iter_step_entries(step, names, unit),
                *_iter_inference_entries(step, is_closest=number - 1 == closest),
            ),
        )
        for number, step in enumerate(steps, start=1)
    ]


def iter_step_entries(
    step: AgentStep, names: Mapping[str, str], unit: Mapping[str, int]
) -> Iterator[Entry]:
    """Yield a step's thought, tool, input and observation, or the answer."""
    if step.thought:
        yield Entry(label="Thought", text=replace_addresses(step.thought, names))
    yield from iter_action_entries(step, names, unit)
    if step.answer is not None:
        yield make_answer_entry(step.answer, names)


def iter_action_entries(
    step: AgentStep, names: Mapping[str, str], unit: Mapping[str, int]
) -> Iterator[Entry]:
    """Yield the tool, the input and the observation of a step; nothing of an answer."""
    if step.action is None:
        return
    yield Entry(label="Action", text=replace_addresses(step.action, names), tone=Tone.TOOL)
    given = replace_addresses(step.action_input or "", names)
    yield Entry(label="Input", text=given, tone=Tone.TOOL)
    if step.observation is not None:
        yield Entry(label="Observation", text=replace_addresses(step.observation, names))
        return
    reason = "reverted"
    if step.tool_failure is not None:
        text = format_whole_tokens(replace_addresses(step.tool_failure, names), unit)
        reason = f"reverted: {text}"
    yield Entry(label="Observation", text=reason, tone=Tone.BAD)


def make_answer_entry(answer: str, names: Mapping[str, str]) -> Entry:
    """Return the entry of an agent's answer: a warning if the instruction is not done."""
    text = replace_addresses(answer, names)
    if is_done(answer):
        return Entry(label="Answer", text=text, tone=Tone.GOOD)
    return Entry(label="Not done", text=text, tone=Tone.WARNING)


def iter_failure_entries(
    failure: str | None, names: Mapping[str, str], unit: Mapping[str, int]
) -> Iterator[Entry]:
    """Yield the reasons of a revert, outermost first."""
    for depth, reason in enumerate([] if failure is None else failure.split(REASON)):
        text = reason.rstrip("), ") + ")" if "(" in reason else reason
        text = format_whole_tokens(replace_addresses(text, names), unit)
        yield Entry(label="" if depth else "Reverted", text=f"{'  ' * depth}{text}", tone=Tone.BAD)


def iter_transaction_entries(run: AgentTransaction) -> Iterator[Entry]:
    """Yield the hash and the gas of a transaction."""
    yield Entry(label="Transaction", text=f"0x{run.transaction_hash.hex()}", tone=Tone.FAINT)
    yield Entry(label="Gas", text=f"{run.gas_used:,}", tone=Tone.FAINT)


def iter_difference_entries(differences: Iterable[str]) -> Iterator[Entry]:
    """Yield the differences of a run from the ideal."""
    for text in differences:
        yield Entry(label="Differs", text=text, tone=Tone.WARNING)


def _iter_inference_entries(step: AgentStep, *, is_closest: bool) -> Iterator[Entry]:
    if step.inference.is_decided:
        yield Entry(label="Decided", text="by the rules, without a model", tone=Tone.FAINT)
    if step.margin is not None:
        tone = Tone.WARNING if is_closest else Tone.FAINT
        yield Entry(label="Closest", text=format_margin(step.margin), tone=tone)
    if step.confidence is not None:
        text = f"{step.confidence.surprisal / NAT:.2f} nats"
        yield Entry(label="Surprisal", text=text, tone=Tone.FAINT)
