"""A report as a document: chapters of words, tables and pictures, before it is HTML or Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.bench.report import number_format

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Interval


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that the eye is to find."""

    text: str


Paragraph: TypeAlias = "tuple[str | Strong, ...]"
"""A paragraph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What stands in a place of a table."""

    text: str
    span: str = ""
    """Where the value lies with 95 % confidence, in the value's unit."""

    note: str = ""
    """What it is of something else: how many times the default price."""

    is_marked: bool = False
    """Whether it is what the table is there to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a column of a table holds."""

    title: str
    is_number: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows of cells. The first cell of a row names it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_folded: bool = False
    """Whether only those see it who open it: long, and of little news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A plot and what it shows, in words, for those who do not see it."""

    name: str
    """Of its file, and of what draws it: a key of `plots.PLOTS`."""

    title: str
    alt: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One question and its answer."""

    name: str
    """Where a link leads."""

    title: str
    words: tuple[Paragraph, ...] = ()
    parts: tuple[ReportTable | Picture, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """All that a report says."""

    title: str
    answer: Paragraph
    circumstances: tuple[tuple[str, str], ...]
    """(what, which): model, machine, how noisy it was."""

    warnings: tuple[str, ...]
    """What a reader has to know before believing a number."""

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
    """Return a cell of a number, and where it lies."""
    text = number_format.format_number(value.middle)
    return Cell(text=text, span=number_format.format_span(value), note=note, is_marked=is_marked)


def make_time_cell(seconds: Interval, *, is_marked: bool = False) -> Cell:
    """Return a cell of a time in seconds, and where it lies."""
    text = (
        number_format.format_seconds(seconds.middle)
        if seconds.middle
        else number_format.format_zero_seconds(seconds)
    )
    return Cell(text=text, span=number_format.format_seconds_span(seconds), is_marked=is_marked)
