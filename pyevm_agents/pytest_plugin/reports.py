"""Reports in pytest: agent steps and console lines of a failed test, costs of a passed one.

A part of `pytest_plugin/plugin.py`. Loaded in every suite: imports nothing heavy before a test has
an agent chain.
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
"""Title of the section with the traces of agents, under a failed test."""

CONSOLE_SECTION = "console.log"
"""Title of the section with the lines that contracts printed, under a failed test."""

PROPERTY = "agent_"
"""Prefix of the names of a test's properties in JUnit's XML."""

RUNS = "pyevm_agents.testing.run_log"
"""Module of the log of agent runs; imported with the first chain."""

_COST = pytest.StashKey["AgentCost"]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the colours, in the process that reports."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ReportColours(config), "pyevm_agents colours")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Drop the agent runs of the previous test."""
    log = _get_run_log()
    if log is not None:
        log.clear()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Measure the cost of agents in the test itself, without fixtures.

    A fixture of a wider scope runs in the first of several tests, which depends on the selection of
    tests.
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
    """Add agent steps and console lines to the report of a failed test, costs to a passed one."""
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
        if log.console_lines:
            report.sections.append((CONSOLE_SECTION, "\n".join(log.console_lines)))
    cost = item.stash.get(_COST, None)
    if call.when == "call" and report.passed and cost is not None:
        is_varying = bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
        # xdist transfers the attributes of reports from its workers.
        untyped_report: Any = report
        untyped_report.agent_cost, untyped_report.agent_varies = asdict(cost), is_varying
    return report


def _show_refusal(report: pytest.TestReport, error: BaseException, *, has_frames: bool) -> None:
    """Show the message, in the summary line without the name of the exception's class."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if not has_frames:
        report.longrepr = FailureMessage(str(error))  # type: ignore[assignment]
    elif crash is not None:
        crash.message = summarize_error(error)


def _add_steps_section(report: pytest.TestReport, call: pytest.CallInfo[None], log: RunLog) -> None:
    """Add the traces of agents to a report, except that of the run which the failure shows."""
    from pyevm_agents.testing.assertions import SHOWN_RUN  # noqa: PLC0415 - see above
    from pyevm_agents.testing.reports import format_runs  # noqa: PLC0415 - see above

    error = None if call.excinfo is None else call.excinfo.value
    failure_run: AgentRun | None = getattr(error, SHOWN_RUN, None)
    runs = [run for run in log.runs if failure_run is None or not run.is_same_run(failure_run)]
    count = log.count - len(log.runs) + len(runs)
    if count:
        report.sections.append((SECTION, format_runs(runs, count)))


class ReportColours:
    """Colours for agent steps, added by the process that has the terminal."""

    def __init__(self, config: pytest.Config) -> None:
        """Create the colours for a run's terminal."""
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add colours to a failed test's agent steps."""
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
