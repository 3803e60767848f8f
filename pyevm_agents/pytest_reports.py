"""Reports in pytest: agents' steps under a test that failed, their cost beside each that passed.

A part of `pyevm_agents.pytest_plugin`: it is loaded in every suite, so it imports nothing heavy
before a test has an agent chain.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyevm_agents.testing.costs import Cost  # noqa: F401 - of what is stashed
    from pyevm_agents.testing.runs import RunLog

SECTION = "agent steps"
"""The title of what stands under a failed test."""

PROPERTY = "agent_"
"""Before the names of a test's properties, as JUnit's XML has them."""

RUNS = "pyevm_agents.testing.runs"
"""Who keeps what agents do; imported with the first chain."""

_COST = pytest.StashKey["Cost"]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to report, in the process that does."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Colours(config), "pyevm_agents colours")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget what agents did in the test before."""
    log = _log()
    if log is not None:
        log.clear()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Measure what agents cost in the test itself: what fixtures do is not in it.

    A fixture of a wider scope works in one test for others, and which one that is depends on the
    tests that are run.
    """
    log = _log()
    if log is not None:
        log.begin_cost()
    yield
    log = _log()
    if log is not None and log.cost.steps:
        item.stash[_COST] = log.cost
        for field, number in asdict(log.cost).items():
            item.user_properties.append((PROPERTY + field, number))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put agents' steps under a test that failed, and their cost beside one that passed."""
    report = yield
    log = _log()
    if log is None:
        return report
    if report.failed and log.count:
        from pyevm_agents.testing.reports import runs_text  # noqa: PLC0415 - see above

        report.sections.append((SECTION, runs_text(log.runs, log.count)))
    cost = item.stash.get(_COST, None)
    if call.when == "call" and report.passed and cost is not None:
        is_varying = bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
        # A report's fields come back from a worker of xdist.
        told: Any = report
        told.agent_cost, told.agent_varies = asdict(cost), is_varying
    return report


class Colours:
    """Colours agents' steps where the terminal has colours: a worker of xdist doesn't know."""

    def __init__(self, config: pytest.Config) -> None:
        """Report to a run's terminal."""
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Colour what is about to be told."""
        if not report.failed or not any(title == SECTION for title, _ in report.sections):
            return
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or not terminal.hasmarkup:
            return
        from pyevm_agents.testing.reports import coloured  # noqa: PLC0415 - see above

        markup = self._config.get_terminal_writer().markup
        report.sections = [
            (title, coloured(text, markup) if title == SECTION else text)
            for title, text in report.sections
        ]


def _log() -> RunLog | None:
    module: Any = sys.modules.get(RUNS)
    found: RunLog | None = None if module is None else module.log
    return found
