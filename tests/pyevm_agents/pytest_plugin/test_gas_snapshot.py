"""The agent gas snapshot in a user's suite."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tests.pyevm_agents.counting_suite import HEAD, INI, SAYING

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

FILE = ".agent-gas-snapshot"

TWO = """
def test_one(agent_chain):
    agent_chain.model.use_model(five())
    assert counted(agent_chain) == 5

def test_two(agent_chain):
    agent_chain.model.use_model(five())
    assert counted(agent_chain) + counted(agent_chain) == 10

def test_plain(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, facts: Path) -> Run:
    """Write a suite and run it."""

    def run(text: str, *options: str, head: str = HEAD, ini: str = "") -> pytest.RunResult:
        pytester.makeini(f"{INI}cache_dir = {facts}\n{ini}")
        pytester.path.joinpath("test_suite.py").write_text(head + SAYING + dedent(text))
        return pytester.runpytest_inprocess(*options)

    return run


def listed_tests() -> list[str]:
    return [line.split(" (")[0].split("::")[1] for line in Path(FILE).read_text().splitlines()]


def test_a_snapshot_is_written_and_holds(suite: Run) -> None:
    written = suite(TWO, "--agent-gas-snapshot")
    written.assert_outcomes(passed=3)
    written.stdout.fnmatch_lines(
        ["*= agent gas =*", "new: test_suite.py::test_one, * gas", f"{FILE}: has the 2 tests *"]
    )
    one, two = Path(FILE).read_text().splitlines()
    assert re.fullmatch(
        r"test_suite\.py::test_one \(gas: \d+, evm: \d+, prompt: \d+, output: 840000, steps: 2, "
        r"cold_tokens: \d+, warm_tokens: \d+, output_tokens: 84\)",
        one,
    )
    assert "output: 1680000, steps: 4," in two
    checked = suite(TWO, "--agent-gas-check")
    assert checked.ret == pytest.ExitCode.OK
    checked.stdout.fnmatch_lines([f"{FILE}: as it says"])
    assert "agent gas" not in suite(TWO).stdout.str()


def test_a_change_fails_the_run_and_is_shown(suite: Run) -> None:
    suite(TWO, "--agent-gas-snapshot")
    longer = HEAD.replace("Be quick.", "Be very quick.")
    changed = suite(TWO, "--agent-gas-check", head=longer)
    changed.assert_outcomes(passed=3, errors=1)
    changed.stdout.fnmatch_lines([f"ERROR {FILE}*", "=* 3 passed, 1 error in *=*"])
    assert changed.ret == pytest.ExitCode.TESTS_FAILED
    changed.stdout.re_match_lines(
        [
            r"=+ agent gas =+",
            r"test +was +is +change",
            r"test_suite\.py::test_one +gas +[\d,]+ +[\d,]+ +\+\d\.\d\d%",
            r"test_suite\.py::test_one +cold_tokens +[\d,]+ +[\d,]+ +\+\d\.\d\d%",
            r"agents cost something else than the snapshot says.*--agent-gas-snapshot.*",
        ]
    )
    assert "steps" not in changed.stdout.str().split("agent gas =")[1]
    for tolerance in ("0.02", "2%"):
        within = suite(TWO, "--agent-gas-check", f"--agent-gas-tolerance={tolerance}", head=longer)
        assert within.ret == pytest.ExitCode.OK
        within.stdout.fnmatch_lines([f"{FILE}: as it says, within 0.02"])
    ini = "agent_gas_check = true\nagent_gas_tolerance = 0.0001\n"
    assert suite(TWO, head=longer, ini=ini).ret == pytest.ExitCode.TESTS_FAILED
    again = suite(TWO, "--agent-gas-snapshot", head=longer, ini=ini)
    again.stdout.fnmatch_lines(["test_suite.py::test_one *", f"{FILE}: has the 2 tests *"])
    assert suite(TWO, "--agent-gas-check", head=longer).ret == pytest.ExitCode.OK


def test_a_part_of_the_tests_changes_only_its_own_lines(suite: Run) -> None:
    suite(TWO, "--agent-gas-snapshot")
    before = Path(FILE).read_text().splitlines()
    longer = HEAD.replace("Be quick.", "Be very quick.")
    for options in (
        ["-k", "one"],
        ["test_suite.py::test_one"],
        ["--deselect=test_suite.py::test_two"],
    ):
        suite(TWO, "--agent-gas-snapshot", *options, head=longer)
        after = Path(FILE).read_text().splitlines()
        assert len(after) == 2
        assert (after[0] != before[0], after[1] == before[1]) == (True, True)
    part = suite(TWO, "--agent-gas-check", "test_suite.py::test_one", head=longer)
    assert part.ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_new_and_gone_tests_are_listed(suite: Run) -> None:
    suite(TWO, "--agent-gas-snapshot")
    other = TWO.replace("test_one", "test_other")
    checked = suite(other, "--agent-gas-check")
    assert checked.ret == pytest.ExitCode.TESTS_FAILED
    told = ["new: test_suite.py::test_other, * gas", "gone: test_suite.py::test_one"]
    checked.stdout.fnmatch_lines(told)
    suite(other, "--agent-gas-snapshot").stdout.fnmatch_lines(told)
    assert listed_tests() == ["test_other", "test_two"]
    only_gone = suite(TWO.replace("test_two", "check_two"), "--agent-gas-snapshot", "-k", "one")
    only_gone.stdout.fnmatch_lines(["gone: test_suite.py::test_two"])
    assert listed_tests() == ["test_one"]
    suite("def test_plain(): pass", "--agent-gas-snapshot")
    assert listed_tests() == []


@pytest.mark.slow
def test_a_test_that_no_longer_has_agents_is_told(suite: Run) -> None:
    suite(TWO, "--agent-gas-snapshot")
    without = TWO.replace("assert counted(agent_chain) == 5", "pass")
    without = without.replace("    agent_chain.model.use_model(five())\n    pass", "    pass")
    checked = suite(without, "--agent-gas-check")
    assert checked.ret == pytest.ExitCode.TESTS_FAILED
    checked.stdout.re_match_lines([r"test_suite\.py::test_one +gas +[\d,]+ +0 +-100\.00%"])
    failing = without.replace("    pass", "    assert not agent_chain", 1)
    assert "test_one  gas" not in suite(failing, "--agent-gas-check").stdout.str()
    suite(without, "--agent-gas-snapshot").stdout.fnmatch_lines(["gone: test_suite.py::test_one"])
    assert listed_tests() == ["test_two"]


def test_tests_of_files_that_are_not_run_stay_and_of_deleted_ones_go(
    suite: Run, pytester: pytest.Pytester
) -> None:
    suite(TWO, "--agent-gas-snapshot")
    line = Path(FILE).read_text().splitlines()[0]
    pytester.makepyfile(test_other="def test_plain(): pass")
    there, gone = (line.replace("test_suite", name) for name in ("test_other", "test_deleted"))
    Path(FILE).write_text("\n".join([Path(FILE).read_text(), there, gone]))
    suite(TWO, "--agent-gas-snapshot", "test_suite.py")
    assert [one.split("::")[0] for one in Path(FILE).read_text().splitlines()] == [
        "test_other.py",
        "test_suite.py",
        "test_suite.py",
    ]


@pytest.mark.slow
def test_failed_tests_and_those_of_hypothesis_have_no_line(suite: Run) -> None:
    suite(TWO, "--agent-gas-snapshot")
    before = Path(FILE).read_text()
    text = TWO.replace("== 10", "== 11") + dedent(
        """
        from hypothesis import HealthCheck, given, settings, strategies

        @settings(
            max_examples=2, deadline=None, database=None,
            suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        )
        @given(strategies.booleans())
        def test_varies(agent_chain, value):
            agent_chain.model.use_model(five())
            assert counted(agent_chain) == 5
        """
    )
    result = suite(text, "--agent-gas-snapshot", "-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*= agents =*", "test *steps *gas *", "*::test_varies *"])
    assert Path(FILE).read_text() == before
    result = suite(text, "--agent-gas-check")
    result.stdout.no_fnmatch_line("new: *")


@pytest.mark.slow
def test_what_is_wrong_is_told(suite: Run) -> None:
    missing = suite(TWO, "--agent-gas-check")
    assert missing.ret == pytest.ExitCode.TESTS_FAILED
    missing.stdout.fnmatch_lines([f"there is no {FILE}: write it with *--agent-gas-snapshot*"])
    Path(FILE).write_text("test_suite.py::test_one (gas: 1)\n")
    for option in ("--agent-gas-check", "--agent-gas-snapshot"):
        damaged = suite(TWO, option)
        assert damaged.ret == pytest.ExitCode.TESTS_FAILED
        damaged.stdout.fnmatch_lines(
            [f"*{FILE}, line 1: *must be a line of an agent gas snapshot*"]
        )
    unclear = suite(TWO, "--agent-gas-tolerance=most")
    assert unclear.ret == pytest.ExitCode.USAGE_ERROR
    unclear.stderr.fnmatch_lines(["*--agent-gas-tolerance most: it must be a share below 1*"])


@pytest.mark.slow
def test_the_summary_is_shown_where_it_is_asked_for(suite: Run) -> None:
    assert "agents" not in suite(TWO).stdout.str().split("collected")[1]
    for option in ("-v", "--agent-summary"):
        suite(TWO, option).stdout.re_match_lines(
            [
                r"=+ agents =+",
                r"test +steps +read +warm +written +gas +EVM +prompt +output +s",
                r"test_suite\.py::test_one +2 +\d+ +\d+ +84 +[\d,]+ +[\d,]+ +[\d,]+ +840,000 +\d.*",
                r"test_suite\.py::test_two +4 .*",
            ]
        )


@pytest.mark.slow
def test_workers_tell_what_their_tests_cost(
    suite: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    suite(TWO, "--agent-gas-snapshot")
    before = Path(FILE).read_text()
    Path(FILE).write_text(before + before.splitlines()[0].replace("test_one", "test_gone") + "\n")
    failing = TWO + "\ndef test_fails(agent_chain):\n    test_one(agent_chain)\n    assert 0\n"
    pytester.path.joinpath("test_suite.py").write_text(HEAD + SAYING + failing)
    result = pytester.runpytest_subprocess("-n2", "--agent-gas-snapshot", "--junit-xml=junit.xml")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*- agent steps -*", "gone: test_suite.py::test_gone"])
    assert Path(FILE).read_text() == before
    assert 'name="agent_steps" value="4"' in Path("junit.xml").read_text()
