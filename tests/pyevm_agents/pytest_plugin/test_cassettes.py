"""Cassettes in a user's suite, with a byte model in place of the real one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from pyevm_agents.recordings import canonical_json
from tests.pyevm_agents.counting_suite import HEAD, INI, SAYING

pytest_plugins = ["pytester"]

TEST = """
@pytest.mark.cassette
def test_counts(agent_chain):
    assert counted(agent_chain) == 5
"""

STAND_IN = (
    SAYING
    + """
import pytest

@pytest.fixture
def cassette_model():
    return five()
"""
)

FILE = "cassettes/test_suite/test_counts.json"
COMMAND = "pytest --record test_suite.py::test_counts"

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def suite(pytester: pytest.Pytester, facts: Path) -> Run:
    """Write a suite and run it."""
    pytester.makeconftest(STAND_IN)
    pytester.makeini(f"{INI}cache_dir = {facts}\n")

    def run(text: str, *options: str, head: str = HEAD) -> pytest.RunResult:
        pytester.path.joinpath("test_suite.py").write_text(head + dedent(text))
        return pytester.runpytest_inprocess(*options)

    return run


def version(file: str) -> int:
    """Return the inode of a file, which changes when the file is written."""
    return Path(file).stat().st_ino


def test_a_test_is_recorded_once_and_then_replayed(suite: Run, pytester: pytest.Pytester) -> None:
    missing = suite(TEST)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines([f"there is no cassette {FILE}", f"*{COMMAND}"])
    recorded = suite(TEST, "--record")
    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines(
        ["recording test_counts: step 1: reads *", "*step 2: wrote *", f"{FILE}: written"]
    )
    pytester.makeconftest("")
    replayed = suite(TEST)
    replayed.assert_outcomes(passed=1)
    assert "recording" not in replayed.stdout.str()
    written = json.loads(Path(FILE).read_text())
    assert written["_info"]["test"] == "test_suite.py::test_counts"
    assert "You count.\n" in written["steps"][0]["prompt"][1]["text"]
    assert "".join(written["steps"][1]["generation"]["text"]).endswith("It is 5.")


def test_recording_again_changes_nothing_where_nothing_changed(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    before = version(FILE)
    again = suite(TEST, "--record", "test_suite.py::test_counts")
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines([f"{FILE}: as it was"])
    assert version(FILE) == before


def test_a_prompt_that_changed_is_shown_as_a_diff(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    changed = suite(TEST, head=HEAD.replace("Add five", "Add six"))
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(
        [
            f"{FILE}: the prompt of step 1 of 2 is not what was recorded",
            "--- recorded",
            "+++ now",
            "-Question: Add five*",
            "+Question: Add six*",
            f"if that is right, record it with the model: {COMMAND}",
        ]
    )
    changed.stdout.fnmatch_lines([f"FAILED test_suite.py::test_counts - {FILE}: th*"])
    told = changed.stdout.str()
    assert "You have access to" not in told
    assert "Traceback" not in told
    assert "web3" not in told.split("plugins: ")[1].split("\n", 1)[1]


def test_a_diff_has_colours_and_junits_file_none(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    six = HEAD.replace("Add five", "Add six")
    coloured = suite(TEST, "--color=yes", "--junit-xml=junit.xml", head=six).stdout.str()
    assert re.search(r"\x1b\[31m-Question: Add five.*\x1b\[0m", coloured)
    assert re.search(r"\x1b\[32m\+Question: Add six.*\x1b\[0m", coloured)
    written = Path("junit.xml").read_text()
    assert f'message="{FILE}: the prompt of step 1 of 2 is not' in written
    assert "-Question: Add five&lt;|im_end|&gt;\n+Question: Add six" in written
    assert "x1B" not in written


def test_a_test_that_swallows_the_failure_fails_all_the_same(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    swallowing = """
    @pytest.mark.cassette
    def test_counts(agent_chain):
        try:
            counted(agent_chain, "Add nine")
        except Exception:
            pass
    """
    failed = suite(swallowing)
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["+Question: Add nine*"])


def test_a_step_that_nobody_asks_for_fails_the_test(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    idle = suite("@pytest.mark.cassette\ndef test_counts(agent_chain): pass")
    idle.assert_outcomes(failed=1)
    idle.stdout.fnmatch_lines(
        [f"{FILE}: 2 of its 2 steps were not asked for", "step 1:", "*Add five*", f"*{COMMAND}"]
    )


def test_one_step_more_than_recorded_fails_the_test(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    more = TEST + "    counted(agent_chain, 'Add seven')\n"
    failed = suite(more)
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(
        ["*all of its 2 steps were said, and one more is asked for*", "+Question: Add seven*"]
    )


def test_a_test_that_fails_while_recording_writes_nothing(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    before = Path(FILE).read_bytes()
    failing = TEST.replace("== 5", "== 6")
    suite(failing, "--record", head=HEAD.replace("five", "six")).assert_outcomes(failed=1)
    assert Path(FILE).read_bytes() == before
    Path(FILE).unlink()
    suite(failing, "--record").assert_outcomes(failed=1)
    assert [*Path("cassettes").rglob("*.*")] == []


def test_a_damaged_file_is_told_where(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    whole = Path(FILE).read_text()
    damaged = {
        "*altered: steps[[]0] does not fit its digest": whole.replace("I add.", "I take."),
        "*line 1 is git's mark of a conflict*": "<<<<<<< HEAD\n" + whole,
        "*not JSON: line *": whole[:-20],
        "*a cassette of version 9;*": whole.replace('"version": 1', '"version": 9'),
    }
    for told, text in damaged.items():
        Path(FILE).write_text(text)
        result = suite(TEST)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([told, f"get it from git, or *{COMMAND}"])


def test_another_model_is_told_with_both_digests(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    other = re.sub(r'("digest": "0x)\w{8}', r"\g<1>00000000", Path(FILE).read_text())
    digests = json.loads(other)
    digests["digests"]["models"] = canonical_json.compute_digest(digests["models"])
    Path(FILE).write_text(json.dumps(digests))
    result = suite(TEST)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"{FILE}: it was recorded with another model",
            "-smollm2-135m-react 0x00000000*",
            "+smollm2-135m-react 0x*",
            f"*{COMMAND}",
        ]
    )


def test_each_set_of_parameters_and_each_class_has_its_own_file(suite: Run) -> None:
    text = """
    @pytest.mark.cassette
    @pytest.mark.parametrize("question", ["Add five", "Five, please: a/b"])
    def test_asks(agent_chain, question):
        assert counted(agent_chain, question) == 5

    @pytest.mark.cassette(name="named")
    class TestAll:
        def test_counts(self, agent_chain):
            assert counted(agent_chain) == 5
    """
    suite(text, "--record").assert_outcomes(passed=3)
    names = {file.name for file in Path("cassettes/test_suite").iterdir()}
    (hashed,) = (
        names
        - {"test_asks[Add-five]-6cdb8d8c.json", "named.json"}
        - {name for name in names if name.startswith("test_asks[Add-five]")}
    )
    assert len(names) == 3
    assert re.fullmatch(r"test_asks\[Five,-please-a-b\]-[0-9a-f]{8}\.json", hashed)
    suite(text).assert_outcomes(passed=3)


@pytest.mark.slow
def test_two_tests_do_not_overwrite_each_others_file(suite: Run) -> None:
    text = """
    @pytest.mark.cassette(name="named")
    class TestAll:
        def test_counts(self, agent_chain):
            assert counted(agent_chain) == 5

        def test_counts_again(self, agent_chain):
            assert counted(agent_chain, "Five") == 5

    @pytest.mark.cassette
    def test_counts(agent_chain):
        assert counted(agent_chain) == 5
    """
    result = suite(text, "--record")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "cassettes/test_suite/named.json was recorded for *::TestAll::test_counts *",
            "give test_suite.py::TestAll::test_counts_again a name of its own: *",
        ]
    )
    suite(text).assert_outcomes(passed=2, failed=1)
    suite(text, "--record").assert_outcomes(passed=2, failed=1)
    # Alone, the second overwrites the first, which then reports the difference.
    suite(text, "--record", "-k", "test_counts_again").assert_outcomes(passed=1, deselected=2)
    suite(text).assert_outcomes(passed=2, failed=1)


def test_a_test_that_is_skipped_has_no_cassette(suite: Run) -> None:
    text = (
        TEST.replace("cassette", 'cassette(name="named")')
        + """
@pytest.mark.skip
@pytest.mark.cassette(name="named")
def test_elsewhere(agent_chain):
    assert counted(agent_chain, "Five") == 5
"""
    )
    suite(text, "--record").assert_outcomes(passed=1, skipped=1)
    suite(text).assert_outcomes(passed=1, skipped=1)


def test_what_is_missing_is_recorded_and_the_rest_replayed(suite: Run) -> None:
    suite(TEST, "--record").assert_outcomes(passed=1)
    two = TEST + TEST.replace("test_counts", "test_again")
    before = version(FILE)
    result = suite(two, "--record=missing")
    result.assert_outcomes(passed=2)
    assert version(FILE) == before
    result.stdout.fnmatch_lines(["cassettes/test_suite/test_again.json: written"])
    result.stdout.no_fnmatch_line(f"{FILE}: *")
    suite(two).assert_outcomes(passed=2)


def test_a_marker_that_means_nothing_fails(suite: Run) -> None:
    text = """
    @pytest.mark.cassette
    def test_no_chain(): pass

    @pytest.mark.cassette("name.json")
    def test_misused(agent_chain): pass

    @pytest.mark.cassette
    def test_no_agent(agent_chain): pass
    """
    result = suite(text, "--record")
    result.assert_outcomes(failed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*test_misused takes nothing but name=*",
            "*test_no_chain is marked cassette and uses no agent_chain*",
            "no model was asked for anything*",
        ]
    )


def test_a_project_may_have_an_option_of_that_name(suite: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        STAND_IN + "\ndef pytest_addoption(parser):\n    parser.addoption('--record')\n"
    )
    result = suite(TEST, "--record", "x", "--agent-record")
    result.assert_outcomes(passed=1)
    suite(TEST).assert_outcomes(passed=1)
    missing = suite(TEST.replace("test_counts", "test_other"), "--record", "x")
    missing.stdout.fnmatch_lines(["*pytest --agent-record test_suite.py::test_other"])


@pytest.mark.slow
def test_workers_record_and_replay(
    suite: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    four = TEST.replace(
        "@pytest.mark.cassette", "@pytest.mark.cassette\n@pytest.mark.parametrize('n', range(4))"
    ).replace("agent_chain):", "agent_chain, n):")
    suite(four, "--collect-only")
    recorded = pytester.runpytest_subprocess("-n2", "--record")
    recorded.assert_outcomes(passed=4)
    recorded.stdout.fnmatch_lines(["cassettes/test_suite/test_counts[[]3].json: written"])
    suite(four).assert_outcomes(passed=4)


@pytest.mark.slow
def test_the_real_model_says_again_what_the_example_holds(
    pytester: pytest.Pytester, facts: Path
) -> None:
    """A new recording equals the committed cassette byte for byte."""
    examples = Path(__file__).parents[2] / "examples"
    pytester.makeini(f"{INI}cache_dir = {facts}\n")
    folder = pytester.mkdir("tests").joinpath("examples")
    folder.mkdir()
    folder.joinpath("test_cassette.py").write_text((examples / "test_cassette.py").read_text())
    recorded = pytester.runpytest_inprocess("--record")
    recorded.assert_outcomes(passed=1)
    (file,) = folder.rglob("*.json")
    recorded.stdout.fnmatch_lines(["recording * wrote * tokens: * Action: DeployTool *"])
    assert file.read_bytes() == (examples / file.relative_to(folder)).read_bytes()
