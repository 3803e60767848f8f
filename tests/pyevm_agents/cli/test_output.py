"""Progress of a command."""

from __future__ import annotations

import time
from io import StringIO
from queue import Queue
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from rich.table import Table

from pyevm_agents.cli import output
from pyevm_agents.cli.output import StatusLine, print_table
from pyevm_agents.models import Progress
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from pyevm_agents.models.progress import Phase


class Screen:
    """Standard error and a clock, both of our own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> None:
        self.text = StringIO()
        self.seconds = 0.0
        console = Console(
            file=self.text, force_terminal=is_terminal, width=80, highlight=False, _environ={}
        )
        monkeypatch.setattr(output, "err", console)
        monkeypatch.setattr(time, "monotonic", lambda: self.seconds)
        self.watch = StatusLine()

    def report(self, phase: Phase, done: int, total: int, text: str = "") -> None:
        self.watch.on_progress(Progress(phase=phase, done=done, total=total, text=text))

    @property
    def lines(self) -> list[str]:
        return self.text.getvalue().splitlines()


def test_slow_loading_is_told_in_a_line_for_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Screen(monkeypatch, is_terminal=False)
    for second in range(5):
        page.seconds = float(second)
        page.report("hash", second * 10**9, 4 * 10**9)
    page.report("start", 0, 1)
    page.report("load", 0, 100)
    page.report("load", 100, 100)
    page.report("check", 0, 1)
    assert page.lines == [
        "… reading the model's file, 4,000 MB",
        "… starting the engine",
        "… loading the model",
        "… checking the model's bits",
    ]


def test_quick_loading_is_not_worth_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Screen(monkeypatch, is_terminal=False)
    page.report("start", 0, 1)
    page.seconds = 0.2
    page.report("load", 50, 100)
    page.report("prompt", 0, 700)
    page.report("prompt", 512, 700)
    page.report("output", 1, 200, "so")
    page.report("prompt", 0, 800)
    page.report("output", 1, 200, "so")
    assert page.lines == [
        "… step 1: reading the prompt",
        "… step 1: writing",
        "… step 2: reading the prompt",
        "… step 2: writing",
    ]


def test_loading_in_the_middle_of_a_run_has_its_own_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = Screen(monkeypatch, is_terminal=False)
    page.report("prompt", 0, 700)
    page.seconds = 100
    page.report("load", 0, 100)
    page.seconds = 100.4
    page.report("load", 1, 100)
    assert page.lines == ["… step 1: reading the prompt", "… loading the model"]


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(phase="hash", done=8 * 10**6, total=98 * 10**6), "file, 8 of 98 MB"),
        (Progress(phase="start", done=0, total=1), "starting the engine"),
        (Progress(phase="load", done=31, total=100), "loading the model, 31 %"),
        (Progress(phase="check", done=0, total=1), "checking the model's bits"),
        (Progress(phase="prompt", done=0, total=700), "step 1: reading 0 of 700 tokens"),
        (Progress(phase="output", done=7, total=200, text="so [b]\x1b"), "7 tokens  so [b]"),
    ],
)
def test_a_terminal_has_one_live_line(
    monkeypatch: pytest.MonkeyPatch, progress: Progress, words: str
) -> None:
    page = Screen(monkeypatch, is_terminal=True)
    with page.watch:
        page.watch.on_progress(progress)
        # What a spinner draws is a matter of time; what it would say is not.
        assert words in page.watch._format_line(progress)  # noqa: SLF001
    assert "\x1b[2K" in page.text.getvalue()
    assert "\x1b[?25h" in page.text.getvalue(), "the cursor is back"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_long_wait_is_told(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> None:
    told: Queue[str] = Queue()
    monkeypatch.setattr(output, "SLOW_SECONDS", 0)
    monkeypatch.setattr(output, "is_live", lambda: is_terminal)
    monkeypatch.setattr(StatusLine, "show_status", lambda _, text: told.put(text))
    with output.show_waiting("the node runs the agent"):
        shown = told.get(timeout=HANG_SECONDS)
    assert shown.startswith("the node runs the agent")
    assert shown.endswith(" s") is is_terminal
    # A short one is not.
    monkeypatch.setattr(output, "SLOW_SECONDS", HANG_SECONDS)
    while not told.empty():
        told.get()
    with output.show_waiting("the node runs the agent"):
        pass
    assert told.empty()


def test_a_table_has_no_blanks_at_its_right(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(box=None, padding=(0, 3, 0, 0), show_header=False)
    table.add_row("a", "long text")
    table.add_row("b", "-")
    print_table(table)
    assert capsys.readouterr().out == "a   long text\nb   -\n"
