"""A Chromium of the tests, and its pages."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.packages import installed, node_program
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


class BrowserError(Exception):
    """A command that the browser could not follow."""


class Browser:
    """A process of `driver.mjs`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._numbers = itertools.count()

    def ask(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 - JSON
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the browser's process ended"
        answer = json.loads(line)
        if "error" in answer:
            raise BrowserError(f"{command} {arguments}: {answer['error']}")
        return answer["result"]

    @contextmanager
    def page(
        self,
        url: str,
        *,
        beside: Page | None = None,
        scheme: str = "light",
        width: int = 1_280,
        is_sound: bool = True,
    ) -> Iterator[Page]:
        """Open a page with a storage of its own.

        Input:
            beside: a page, of whose window and storage this one is another tab.
            width: of the window, in CSS pixels.
            is_sound: whether it must have no problem at its end.
        """
        page = Page(self, f"page{next(self._numbers)}")
        other = None if beside is None else beside.name
        page.ask("open", beside=other, scheme=scheme, width=width)
        try:
            page.goto(url)
            yield page
            assert not is_sound or page.problems() == [], page.problems()
        finally:
            page.ask("close")


class Page:
    """A page, and short requests to it. Each waits for what it needs."""

    def __init__(self, browser: Browser, name: str) -> None:
        self._browser, self.name = browser, name

    def ask(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 - JSON
        return self._browser.ask(command, page=self.name, **arguments)

    def goto(self, url: str) -> None:
        self.ask("goto", url=url)

    def wait(self, text: str, within: str = "body") -> None:
        """Wait until a visible element that a selector finds has a text."""
        self.ask("waitForText", text=text, within=within)

    def wait_for(self, code: str, argument: object = None) -> None:
        """Wait until a JavaScript function returns true."""
        self.ask("waitForCode", code=code, argument=argument)

    def text(self, selector: str) -> str:
        return str(self.ask("text", selector=selector))

    def texts(self, selector: str) -> Sequence[str]:
        return list(self.ask("texts", selector=selector))

    def click(self, selector: str) -> None:
        self.ask("click", selector=selector)

    def fill(self, selector: str, text: str) -> None:
        self.ask("fill", selector=selector, text=text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.ask("press", key=key)

    def save(self, selector: str) -> tuple[str, str]:
        """Click on what saves a file; return its name and text."""
        told = self.ask("save", selector=selector)
        return told["name"], told["text"]

    def evaluate(self, code: str, argument: object = None) -> Any:  # noqa: ANN401 - JSON
        """Return what a JavaScript function returns."""
        return self.ask("evaluate", code=code, argument=argument)

    def requests(self) -> Sequence[str]:
        return list(self.ask("requests"))

    def problems(self) -> Sequence[str]:
        """Return the console's errors, exceptions, dialogs, and what the CSP blocked."""
        return list(self.ask("problems"))

    def violations(self) -> Sequence[str]:
        """Return what axe-core objects to."""
        return list(self.ask("axe"))


def chromium_program() -> str:
    """Return Chromium; skip the test where there is none."""
    found = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no chromium here: install the package chromium")
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run a browser inside a context."""
    packages = installed("page", HERE)
    command = [node_program(), str(HERE / "driver.mjs"), chromium_program(), str(packages)]
    process = subprocess.Popen(
        [*command, str(HANG_SECONDS * 1_000)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Browser(process)
    finally:
        process.stdin.close()
        process.wait(timeout=HANG_SECONDS)
        process.stdout.close()
