"""A report as a document for HTML and Markdown: chapters of text, tables, lists and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.reports import number_format

if TYPE_CHECKING:
    from pyevm_agents.reports.number_format import Interval


@dataclass(frozen=True, slots=True)
class Strong:
    """Highlighted words."""

    text: str


Paragraph: TypeAlias = "tuple[str | Strong, ...]"
"""A paragraph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table."""

    text: str
    span: str = ""
    """The 95 % confidence interval, in the value's unit."""

    note: str = ""
    """A relation to another figure: the factor over the default price."""

    is_marked: bool = False
    """Whether it is the point of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    title: str
    is_number: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows of cells. The first cell of a row is the name."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_folded: bool = False
    """Whether it is collapsed at first: long, and of little news."""


class Tone(Enum):
    """How a text stands out."""

    PLAIN = "plain"
    FAINT = "faint"
    TOOL = "tool"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A label and a text."""

    label: str
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryList:
    """Entries below a title: the steps of a run, in their order."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A plot with a description for readers without sight."""

    name: str
    """Name of its file, and of its painter: a key of `plots.PLOTS`."""

    title: str
    alt: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One question and the answer."""

    name: str
    """Anchor of the chapter."""

    title: str
    words: tuple[Paragraph, ...] = ()
    parts: tuple[ReportTable | EntryList | Picture, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A figure at the head of a report."""

    title: str
    value: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """All of a report."""

    title: str
    headlines: tuple[Headline, ...]
    answer: Paragraph
    circumstances: tuple[tuple[str, str], ...]
    """(name, value): model, machine, noise."""

    warnings: tuple[str, ...]
    """Caveats of the numbers."""

    chapters: tuple[Chapter, ...]
    ending: str


def make_text_columns(*titles: str) -> tuple[Column, ...]:
    """Return columns of words."""
    return tuple(Column(title=title, is_number=False) for title in titles)


def make_number_columns(*titles: str) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple(Column(title=title) for title in titles)


def make_text_cell(text: str) -> Cell:
    """Return a cell of words."""
    return Cell(text=text)


def make_number_cell(value: Interval, *, note: str = "", is_marked: bool = False) -> Cell:
    """Return a cell of a number with an interval."""
    return Cell(
        text=number_format.format_estimate(value),
        span=number_format.format_span(value),
        note=note,
        is_marked=is_marked,
    )


def make_time_cell(seconds: Interval, *, is_marked: bool = False) -> Cell:
    """Return a cell of a time in seconds with an interval."""
    return Cell(
        text=number_format.format_estimate(seconds, number_format.format_seconds),
        span=number_format.format_seconds_span(seconds),
        is_marked=is_marked,
    )
