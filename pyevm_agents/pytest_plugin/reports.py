"""Reports in pytest: agents' steps under a test that failed, their cost beside each that passed.

A part of `pytest_plugin/plugin.py`: it is loaded in every suite, so it imports nothing heavy
before a test has an agent chain.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.pytest_plugin.tracebacks import (
    FailureMessage,
    drop_causes,
    is_refusal,
    summarize_error,
    trim_inner_kit_frames,
    trim_kit_frames,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyevm_agents.testing.gas_snapshot import AgentCost  # noqa: F401 - of what is stashed
    from pyevm_agents.testing.run_log import AgentRun, RunLog

SECTION = "agent steps"
"""The title of what stands under a failed test."""

PROPERTY = "agent_"
"""Before the names of a test's properties, as JUnit's XML has them."""

RUNS = "pyevm_agents.testing.run_log"
"""Who keeps what agents do; imported with the first chain."""

_COST = pytest.StashKey["AgentCost"]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to report, in the process that does."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ReportColours(config), "pyevm_agents colours")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget what agents did in the test before."""
    log = _get_run_log()
    if log is not None:
        log.clear()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Measure what agents cost in the test itself: what fixtures do is not in it.

    A fixture of a wider scope works in one test for others, and which one that is depends on the
    tests that are run.
    """
    log = _get_run_log()
    if log is not None:
        log.reset_cost()
    yield
    log = _get_run_log()
    if log is not None and log.cost.steps:
        item.stash[_COST] = log.cost
        for field, number in asdict(log.cost).items():
            item.user_properties.append((PROPERTY + field, number))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put agents' steps under a test that failed, and their cost beside one that passed."""
    root = item.config.rootpath
    failure = None if item.config.getoption("fulltrace", default=False) else call.excinfo
    refusal = failure if failure is not None and is_refusal(failure.value) else None
    has_frames = True
    if refusal is not None:
        has_frames = trim_kit_frames(refusal.tb, root)
        drop_causes(refusal.value, root)
    elif failure is not None:
        trim_inner_kit_frames(failure.tb, root)
    report = yield
    if report.failed and refusal is not None:
        _show_refusal(report, refusal.value, has_frames=has_frames)
    log = _get_run_log()
    if log is None:
        return report
    if report.failed:
        _add_steps_section(report, call, log)
    cost = item.stash.get(_COST, None)
    if call.when == "call" and report.passed and cost is not None:
        is_varying = bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
        # A report's fields come back from a worker of xdist.
        untyped_report: Any = report
        untyped_report.agent_cost, untyped_report.agent_varies = asdict(cost), is_varying
    return report


def _show_refusal(report: pytest.TestReport, error: BaseException, *, has_frames: bool) -> None:
    """Tell what was refused, in the summary's line too: a class's name leaves no room there."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if not has_frames:
        report.longrepr = FailureMessage(str(error))  # type: ignore[assignment]
    elif crash is not None:
        crash.message = summarize_error(error)


def _add_steps_section(report: pytest.TestReport, call: pytest.CallInfo[None], log: RunLog) -> None:
    """Put agents' steps under a test that failed, but for the run that its failure shows."""
    from pyevm_agents.testing.assertions import SHOWN_RUN  # noqa: PLC0415 - see above
    from pyevm_agents.testing.reports import format_runs  # noqa: PLC0415 - see above

    error = None if call.excinfo is None else call.excinfo.value
    failure_run: AgentRun | None = getattr(error, SHOWN_RUN, None)
    runs = [run for run in log.runs if failure_run is None or not run.is_same_run(failure_run)]
    count = log.count - len(log.runs) + len(runs)
    if count:
        report.sections.append((SECTION, format_runs(runs, count)))


class ReportColours:
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
        from pyevm_agents.testing.reports import colour_report  # noqa: PLC0415 - see above

        markup = self._config.get_terminal_writer().markup
        report.sections = [
            (title, colour_report(text, markup) if title == SECTION else text)
            for title, text in report.sections
        ]


def _get_run_log() -> RunLog | None:
    module: Any = sys.modules.get(RUNS)
    run_log: RunLog | None = None if module is None else module.log
    return run_log
