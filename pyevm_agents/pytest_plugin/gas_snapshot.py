"""The agent gas snapshot and the summary of costs in pytest.

    pytest --agent-gas-snapshot     # writes .agent-gas-snapshot; commit it
    pytest --agent-gas-check        # fails if the cost of agents changed

A part of `pytest_plugin/plugin.py`. Loaded in every suite: imports nothing heavy before a test has
agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.testing.gas_snapshot import AgentCost, GasComparison

COLLECTED = "agent_collected"
"""The key for the tests that a worker of xdist collected."""

_GAS = pytest.StashKey["GasSnapshotPlugin"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options."""
    group = parser.getgroup("agents")
    group.addoption(
        "--agent-gas-snapshot",
        action="store_true",
        help="write the cost of agents in each test to .agent-gas-snapshot",
    )
    group.addoption(
        "--agent-gas-check",
        action="store_true",
        help="fail if the cost of agents differs from .agent-gas-snapshot",
    )
    group.addoption(
        "--agent-gas-tolerance",
        metavar="SHARE",
        help="relative change that --agent-gas-check allows: 0.01 or 1%% [default: 0]",
    )
    group.addoption(
        "--agent-summary",
        action="store_true",
        help="show the cost of agents in each test; -v shows it, too",
    )
    parser.addini("agent_gas_check", "always check the agent gas snapshot", "bool", default=False)
    parser.addini("agent_gas_tolerance", "value of --agent-gas-tolerance", default="0")
    parser.addini("agent_gas_file", "path of the agent gas snapshot", default=".agent-gas-snapshot")


def pytest_configure(config: pytest.Config) -> None:
    """Register the snapshot, in the process that reports."""
    gas = config.stash[_GAS] = GasSnapshotPlugin(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(gas, "pyevm_agents gas")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Record all collected tests, also deselected ones."""
    gas = config.stash[_GAS]
    if gas.wants_snapshot:
        gas.collected.update(item.nodeid for item in items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the collected tests of a worker to the process that reports."""
    output = getattr(session.config, "workeroutput", None)
    gas = session.config.stash[_GAS]
    if output is not None and gas.wants_snapshot:
        output[COLLECTED] = sorted(gas.collected)


class GasSnapshotPlugin:
    """Compares the costs of a run's tests with the snapshot."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the options.

        Raises: pytest.UsageError: the tolerance is not a share below 1.
        """
        option = config.option
        self._config = config
        self._is_written: bool = option.agent_gas_snapshot
        self._is_checked = not self._is_written and bool(
            option.agent_gas_check or config.getini("agent_gas_check")
        )
        self._tolerance = _parse_share(
            option.agent_gas_tolerance or config.getini("agent_gas_tolerance")
        )
        self._path: Path = config.rootpath / config.getini("agent_gas_file")
        self._costs: dict[str, AgentCost] = {}
        self._seconds: dict[str, float] = {}
        self._silent: set[str] = set()
        """Passed tests without an agent's step."""

        self._varying: set[str] = set()
        """Tests of Hypothesis, whose examples vary."""

        self._comparison: GasComparison | None = None
        self._failure: str | None = None
        self.collected: set[str] = set()

    @property
    def wants_snapshot(self) -> bool:
        """Whether the snapshot is written or checked."""
        return self._is_written or self._is_checked

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the cost of a test."""
        cost_fields = getattr(report, "agent_cost", None)
        if cost_fields is None:
            if report.when == "call" and report.passed:
                self._silent.add(report.nodeid)
            return
        from pyevm_agents.testing.gas_snapshot import AgentCost  # noqa: PLC0415 - see above

        self._costs[report.nodeid] = AgentCost(**cost_fields)
        self._seconds[report.nodeid] = report.duration
        if getattr(report, "agent_varies", False):
            self._varying.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - a worker of xdist
        """Record the tests that a worker collected."""
        self.collected.update((getattr(node, "workeroutput", None) or {}).get(COLLECTED, ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write or check the snapshot; fail the run if that fails."""
        if not self.wants_snapshot or session.config.option.collectonly:
            return
        from pyevm_agents.errors import ConfigError  # noqa: PLC0415 - see above

        try:
            self._update_snapshot()
        except ConfigError as error:
            self._failure = str(error)
        if self._failure is not None and session.exitstatus in {
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        }:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - not public
        """Print costs and changes."""
        is_asked = self._config.option.agent_summary or self._config.get_verbosity() > 0
        if self._costs and is_asked:
            terminalreporter.write_sep("=", "agents")
            for line in self._format_summary():
                terminalreporter.write_line(line)
        if self._comparison is not None or self._failure is not None:
            terminalreporter.write_sep("=", "agent gas", red=self._failure is not None)
            for line in self._format_comparison():
                terminalreporter.write_line(line)
        if self._failure is not None:  # Without it, the last line would be a green "passed".
            error = pytest.CollectReport(self._path.name, "failed", self._failure, result=None)
            terminalreporter.stats.setdefault("error", []).append(error)

    # -- inside -- #

    def _update_snapshot(self) -> None:
        """Compare costs with the snapshot; with `--agent-gas-snapshot`, write a new one."""
        from pyevm_agents.testing.gas_snapshot import (  # noqa: PLC0415 - see above
            ZERO_COST,
            compare_costs,
            read_snapshot,
            write_snapshot,
        )

        if self._is_checked and not self._path.exists():
            self._failure = (
                f"there is no {self._path.name}: write it with pytest --agent-gas-snapshot, and "
                "commit it"
            )
            return
        costs = {
            test: test_cost for test, test_cost in self._costs.items() if test not in self._varying
        }
        snapshot = read_snapshot(self._path)
        gone = {test for test in snapshot if self._is_gone(test)}
        silent = snapshot.keys() & (self._silent - self._costs.keys())
        if self._is_written:
            gone |= silent
        else:
            costs |= dict.fromkeys(silent, ZERO_COST)
        tolerance = 0.0 if self._is_written else self._tolerance
        self._comparison = compare_costs(snapshot, costs, tolerance=tolerance, gone=gone)
        if self._is_written:
            old_costs = {test: cost for test, cost in snapshot.items() if test not in gone}
            write_snapshot(old_costs | costs, self._path)
        elif self._comparison.changes or self._comparison.new:
            self._failure = (
                "agents cost something else than the snapshot says. If that is right: "
                "pytest --agent-gas-snapshot, for all tests or those named"
            )

    def _is_gone(self, test: str) -> bool:
        """Return whether a test no longer exists; a test that was not collected may."""
        file = test.split("::", 1)[0]
        if not (self._config.rootpath / file).is_file():
            return True
        is_whole = not any("::" in argument for argument in self._config.args)
        if getattr(self._config.option, "lf", False) or not is_whole:
            return False
        files = {node_id.split("::", 1)[0] for node_id in self.collected}
        return file in files and test not in self.collected

    def _format_comparison(self) -> Iterator[str]:
        from pyevm_agents.display import pluralize  # noqa: PLC0415 - see above
        from pyevm_agents.testing.gas_snapshot import format_comparison  # noqa: PLC0415 - see above

        comparison = self._comparison
        if comparison is not None:
            yield from format_comparison(comparison, self._costs)
        if self._failure is not None:
            yield self._failure
        elif self._is_written:
            count = len(self._costs.keys() - self._varying)
            yield f"{self._path.name}: has the {pluralize(count, 'test')} of this run"
        elif comparison is not None and not comparison.gone:
            within = f", within {self._tolerance:g}" if self._tolerance else ""
            yield f"{self._path.name}: as it says{within}"

    def _format_summary(self) -> Iterator[str]:
        from pyevm_agents.testing.gas_snapshot import align_columns  # noqa: PLC0415 - see above

        heads = "test", "steps", "read", "warm", "written", "gas", "EVM", "prompt", "output", "s"
        rows: list[tuple[str, ...]] = [heads]
        rows += [
            (
                test,
                f"{cost.steps}",
                f"{cost.cold_tokens:,}",
                f"{cost.warm_tokens:,}",
                f"{cost.output_tokens:,}",
                f"{cost.gas:,}",
                f"{cost.evm:,}",
                f"{cost.prompt:,}",
                f"{cost.output:,}",
                f"{self._seconds[test]:.2f}",
            )
            for test, cost in sorted(self._costs.items())
        ]
        yield from align_columns(rows, left=1)


def _parse_share(text: str) -> float:
    """Return a share: `0.01` or `1%`."""
    number, is_percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if is_percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise pytest.UsageError(
            f"--agent-gas-tolerance {text}: it must be a share below 1, such as 0.01 or 1%"
        )
    return share
