"""Rules of every test: limits of time, tools that CI has to have, and folders of no user."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests.samples import VARIABLE, Sample, read_sample, write_figures

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path


ALL_TOOLS = "PYEVM_AGENTS_TESTS_NEED_ALL_TOOLS"
"""Set where `CI` is: a test that would be skipped for a missing tool fails."""

pytest_plugins = ["tests.chain_bench", "tests.engines", "tests.pyevm_agents.counting_suite"]

# A loaded machine makes single examples slow; pytest's own limit on a test's time is enough.
# CI tries the same examples in each run. Elsewhere they are random.
settings.register_profile(
    "tests",
    max_examples=30,
    deadline=None,
    print_blob=True,
    derandomize=not {"CI", ALL_TOOLS}.isdisjoint(os.environ),
    suppress_health_check=[HealthCheck.too_slow],
)
thorough = read_sample({"count": 200, "seed": 0}).count
settings.register_profile("thorough", settings.get_profile("tests"), max_examples=thorough)
settings.load_profile("tests")

SLOW_SECONDS = 900
"""How long a slow test may take; pyproject.toml has the limit of the others."""

END_SECONDS = 180
"""How long the end of a test may take."""

MAY_BE_MISSING = re.compile(
    "needs training/(numeric/)?requirements.txt|eth-tester is not|beside the checkout"
)
"""What CI does without: PyTorch, a package that ours excludes, vectors that are no part of this."""

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

STDERR = pytest.StashKey[int]()
"""The process' own, whatever pytest captures."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep the process' own stderr; hide `CI`, which changes pytest's and hypothesis' output."""
    if os.environ.pop("CI", ""):
        os.environ[ALL_TOOLS] = "1"
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        config.stash[STDERR] = os.dup(2)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close it."""
    os.close(config.stash[STDERR])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests their time; evidence takes as long as it takes."""
    if VARIABLE in os.environ:
        return
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


def fail_if_skipped(report: Report) -> Report:
    """Make a failure of a skip for a missing tool, where all tools have to be there."""
    if report.outcome != "skipped" or hasattr(report, "wasxfail") or ALL_TOOLS not in os.environ:
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not MAY_BE_MISSING.search(reason):
        report.outcome = "failed"
        report.longrepr = f"{reason}: CI has to have it"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail where CI would skip a test."""
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail where CI would skip a file."""
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """End the process where the end of a test hangs: a limit holds once, and that was the test's.

    pytest's own watch of a hanging process is gone after the first failure, too.
    """
    faulthandler.dump_traceback_later(END_SECONDS, exit=True, file=item.config.stash[STDERR])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_for_children() -> Iterator[None]:
    """Let tests' processes take SIGINT, which a shell's background job inherits as ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="session")
def _caches_of_no_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _bytecode_for_children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let tests' processes share bytecode, also where the environment keeps none.

    Without bytecode the command takes 3.4 seconds to start in place of 1.3, and an engine 2.1 in
    place of 0.8; the tests start hundreds.
    """
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode:
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", str(folder_of_session(tmp_path_factory) / "pyc"))
        yield


def folder_of_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the workers of a session share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Iterator[Sample]:
    """Number of examples of the test: its mark `sample`, or the count from `make evidence`."""
    mark = request.node.get_closest_marker("sample")
    found = read_sample(mark.kwargs)
    yield found
    write_figures(found)
