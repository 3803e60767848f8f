"""Pages are complete, well-formed and self-contained, for any measurements."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.measurement.results_json import from_json, to_json
from pyevm_agents.bench.pricing.parity import build_parity_schedule, compute_prices
from pyevm_agents.bench.report.chapters import build_document
from pyevm_agents.bench.report.chapters.prices import EMITTED
from pyevm_agents.bench.report.compare import compare
from pyevm_agents.bench.report.html import write_html
from pyevm_agents.bench.report.markdown import as_markdown
from pyevm_agents.bench.report.plots import PLOTS, as_file, draw_plots
from pyevm_agents.bench.report.plots.axes import space_ticks
from pyevm_agents.reports.document import ReportTable
from pyevm_agents.reports.html import as_html
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.bench.measurement.results import Report

VOID = {"meta", "br", "hr", "img", "link", "input"}
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
DEGENERATE = made_up.degenerate()


class Page(HTMLParser):
    """A page whose elements are in each other, none left open, each name given once."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.counts: dict[str, int] = {}
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.names) == len(set(self.names))
        assert {link[1:] for link in self.links if link.startswith("#")} <= set(self.names)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self._note(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self._note(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        assert not any(name.startswith("on") for name in told)
        self.names += [str(told["id"])] if "id" in told else []
        self.links += [
            str(told[name]) for name in ("href", "src", "xlink:href", "srcset") if name in told
        ]


def assert_alone(text: str) -> None:
    """Check that a page loads nothing."""
    assert set(re.findall(r"https?://[^\"'\s<)]+", text)) <= NAMESPACES
    assert not re.search(r"<script|<link|<iframe|@import|url\((?!#)", text)


@pytest.fixture(scope="module")
def plots() -> dict[str, str]:
    """Return all plots of a full report."""
    return draw_plots(made_up.report(), PLOTS)


@pytest.mark.slow
def test_a_full_report_is_one_page(plots: dict[str, str]) -> None:
    report = made_up.report()
    old = replace(report, machine=replace(report.machine, processor="another"))
    text = as_html(build_document(report, compare(old, report)), plots, plots)
    page = Page(text)
    assert_alone(text)
    assert page.counts["svg"] == 2 * len(PLOTS)
    assert page.counts["caption"] == page.counts["table"] >= 14
    assert text.count('role="img" aria-label="') == 2 * len(PLOTS)
    assert "Not the same: processor." in text
    assert text.count("var(--blue)") > 10  # The page's own colours, light or dark.


@pytest.mark.slow
def test_a_page_begins_with_the_headlines(plots: dict[str, str]) -> None:
    body = as_html(build_document(made_up.report()), plots, plots).partition("<body>")[2]
    first = re.findall(r"<(h1|dl|p|table)\b", body)[:2]
    assert first == ["h1", "dl"]
    assert '<dd class="value">42,200 gas</dd>' in body


def test_a_figure_that_holds_zero_is_an_upper_bound_in_every_form(plots: dict[str, str]) -> None:
    full = made_up.report()
    little = Interval(middle=0.0, low=0.0, high=134_000.0)
    terms = tuple(replace(it, ns=little) if it.name == "parameter" else it for it in full.terms)
    report = replace(full, terms=terms, prices=compute_prices(terms, full.yardsticks))
    document = build_document(report)
    page = as_html(document, plots, plots)
    row = re.search(r"<th[^>]*>\s*a parameter in the grammar\s*</th>(.*?)</tr>", page, re.DOTALL)
    assert row is not None
    assert "&lt; 134 µs" in row[1]
    assert not re.search(r">\s*0( \w+)?\s*<", row[1])
    assert r"\< 134 µs" in as_markdown(document)
    again = from_json(to_json(report))
    assert [it.name for it in again.terms if it.ns.is_upper_bound] == ["parameter"]


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_page_states_the_prices_of_the_emitted_schedule(reference: str) -> None:
    full = made_up.report()
    report = replace(full, model=replace(full.model, context_tokens=100_000))
    emitted = build_parity_schedule(report.terms, report.yardsticks, reference, report.model)
    (table,) = (
        part
        for chapter in build_document(report).chapters
        for part in chapter.parts
        if isinstance(part, ReportTable) and part.title == EMITTED
    )
    place = 1 + [*REFERENCES].index(reference)
    (models,) = emitted.models.values()
    shown = {row[0].text: row[place].text for row in table.rows}
    assert shown["a cold prompt token"] == f"{models['cold_prompt_token_gas']:,}"
    assert shown["an output token"] == f"{models['output_token_gas']:,}"
    assert shown["a call"] == f"{emitted.schedule['executor_base_gas']:,}"
    assert "after 100,000 tokens" in table.note
    assert "beyond, the fitted curves are extrapolated" in table.note


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEGENERATE)
def test_a_page_of_what_there_is(kind: str, plots: dict[str, str]) -> None:
    text = as_html(build_document(DEGENERATE[kind]), plots, plots)
    page = Page(text)
    assert_alone(text)
    words = " ".join(page.words)
    assert "nan" not in re.findall(r"[a-z]+", words)
    assert "None" not in words
    assert "What does inference cost in gas?" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("bare", ["gas_time"]),
        ("endless", ["prices", "attacks"]),
        ("nothing", [name for name in PLOTS if name not in {"prices", "attacks"}]),
        ("one sample", ["marginal", "residuals", "attacks"]),
        ("strange words", ["runs"]),
    ],
)
def test_plots_of_what_there_is(kind: str, names: list[str]) -> None:
    report: Report = DEGENERATE[kind]
    for svg in draw_plots(report, names, is_narrow=True).values():
        ET.fromstring(as_file(svg))  # noqa: S314 - our own


def test_a_price_that_may_be_nothing_reaches_out_of_the_plot() -> None:
    full = made_up.report()
    little = (("erc20", Interval(middle=0, low=0, high=1_420)),)
    few = replace(full, prices=(replace(full.prices[0], parity_gas=little),))
    none = replace(full, prices=(replace(full.prices[0], parity_gas=()),))
    bars = [
        draw_plots(report, ["prices"])["prices"].count("stroke-width: 1.4")
        for report in (few, none)
    ]
    assert bars[0] > bars[1]


def test_models_have_their_own_ticks_where_there_is_room() -> None:
    assert space_ticks([142e6, 494e6, 1.54e9]) == [142e6, 494e6, 1.54e9]
    assert space_ticks([142e6, 150e6, 1.54e9]) == [142e6, 1.54e9]
    assert space_ticks([142e6]) == [142e6]
    assert space_ticks([0.0]) == []


def test_plots_are_the_same_each_time(plots: dict[str, str]) -> None:
    assert draw_plots(made_up.report(), ["runs"])["runs"] == plots["runs"]


def test_a_page_is_written(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    write_html(file, made_up.bare_report())
    Page(file.read_text())
    assert [*tmp_path.iterdir()] == [file]
