"""Pages of failed tests: written with the option, one for each test, with its chain."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.server.recorded_page import read_recorded_page
from tests.pyevm_agents.counting_suite import HEAD, INI, SAYING

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

FAILING = """
    def test_fails(agent_chain):
        agent_chain.model.use_model(five())
        assert counted(agent_chain) == 6
    """
PAGE = "test_suite.py.test_fails.html"


@pytest.fixture
def suite(pytester: pytest.Pytester, facts: Path) -> Run:
    """Write a suite and run it."""
    pytester.makeini(f"{INI}cache_dir = {facts}\n")

    def run(text: str, *options: str) -> pytest.RunResult:
        pytester.path.joinpath("test_suite.py").write_text(HEAD + SAYING + dedent(text))
        return pytester.runpytest_inprocess(*options)

    return run


def find_answers(file: Path, method: str) -> list[Any]:
    results = read_recorded_page(file.read_text()).results
    return [json.loads(text) for key, text in results.items() if json.loads(key)[0] == method]


@pytest.mark.slow
def test_a_failed_test_has_a_page_of_its_chain(suite: Run, pytester: pytest.Pytester) -> None:
    result = suite(
        FAILING
        + """
    def test_passes(agent_chain):
        agent_chain.model.use_model(five())
        assert counted(agent_chain) == 5

    def test_has_no_chain():
        assert False
    """,
        "--agent-html=failed",
    )
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*- agent steps -*", "*- agent page -*", f"*/failed/{PAGE}"])
    (file,) = pytester.path.joinpath("failed").iterdir()
    assert file.name == PAGE
    assert "<title>test_suite.py::test_fails · pyevm-agents</title>" in file.read_text()
    assert read_recorded_page(file.read_text()).title == "test_suite.py::test_fails"
    (run,) = find_answers(file, "agent_getRuns")[0]
    assert (run["request"], run["answer"], run["steps"]) == ("Add five", "It is 5.", 2)
    traces = find_answers(file, "agent_traceTransaction")
    assert [step["action"] for step in max(traces, key=lambda one: len(one["steps"]))["steps"]] == [
        "CounterTool",
        None,
    ]


@pytest.mark.slow
def test_a_page_is_written_anew_and_another_file_is_kept(
    suite: Run, pytester: pytest.Pytester
) -> None:
    folder = pytester.path / "failed"
    folder.mkdir()
    (folder / PAGE).write_text("notes")
    result = suite(FAILING, "--agent-html=failed")
    result.stdout.fnmatch_lines([f"*{PAGE} is not a page of a test, and was left as it is"])
    assert (folder / PAGE).read_text() == "notes"
    (folder / PAGE).unlink()
    for _ in range(2):
        result = suite(FAILING, "--agent-html=failed")
        result.stdout.fnmatch_lines([f"*/failed/{PAGE}"])


def test_without_the_option_there_is_no_page(suite: Run, pytester: pytest.Pytester) -> None:
    result = suite(FAILING)
    result.stdout.no_fnmatch_line("*- agent page -*")
    assert list(pytester.path.rglob("*.html")) == []


def test_a_set_up_that_fails_has_a_page(suite: Run, pytester: pytest.Pytester) -> None:
    result = suite(
        """
        @pytest.fixture
        def count(agent_chain):
            agent_chain.model.use_model(five())
            assert counted(agent_chain) == 6

        @pytest.mark.parametrize("name", ["<script>alert(1)</script>"])
        def test_it(count, name): ...
        """,
        "--agent-html=failed",
    )
    result.assert_outcomes(errors=1)
    (file,) = pytester.path.joinpath("failed").iterdir()
    text = file.read_text()
    assert "alert(1)</script>" not in text
    assert read_recorded_page(text).title == "test_suite.py::test_it[<script>alert(1)</script>]"


def test_a_file_is_no_folder_of_pages(suite: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "failed").write_text("")
    result = suite(FAILING, "--agent-html=failed")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--agent-html: */failed is a file; name a folder"])


@pytest.mark.slow
def test_workers_write_pages_where_the_run_began(suite: Run, pytester: pytest.Pytester) -> None:
    result = suite(FAILING, "-n", "1", "--agent-html", "failed")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"{pytester.path}/failed/{PAGE}"])
    assert (pytester.path / "failed" / PAGE).is_file()


def test_the_option_imports_nothing_before_a_failure() -> None:
    script = (
        "import sys, pyevm_agents.pytest_plugin.html_pages; print(*sorted(m for m in sys.modules "
        "if m in {'aiohttp', 'eth', 'pyevm_agents.chain', 'pyevm_agents.rpc'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
