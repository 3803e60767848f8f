"""Schedules that others published, and what an attacker gets from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.report import number_format
from pyevm_agents.bench.report.document import Cell, Chapter, Table, names, numbers, said

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report


def published(report: Report) -> Chapter | None:
    """Return what others' schedules sell; None where it was not computed."""
    if not report.published:
        return None
    rows = tuple(
        (
            said(one.title),
            said(one.formula),
            said(one.worst_use),
            Cell(text=number_format.number(one.worst_ns_per_gas)),
            Cell(text=_bought(one.seconds_per_30m_gas), is_marked=True),
            said(one.source),
        )
        for one in report.published
    )
    columns = (
        *names("Schedule", "Asks", "An attacker uses"),
        *numbers("ns a gas", "Work for 30 million gas"),
        *names("Source"),
    )
    words = (
        "Each was published without a measurement. With the terms fitted here: what lets "
        "an attacker burn the most time for gas, and the work that 30 million gas buy so. "
        f"{number_format.INFINITE} where work is free."
    )
    return Chapter(
        name="published",
        title="Published schedules",
        words=((words,),),
        parts=(Table(title="What an attacker gets", columns=columns, rows=rows),),
    )


def _bought(seconds: float) -> str:
    return number_format.INFINITE if seconds == float("inf") else number_format.seconds(seconds)
