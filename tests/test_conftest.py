"""A hanging test ends alone, or with its process if no test could continue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import conftest

ROOT = Path(__file__).resolve().parents[1]

pytest_plugins = ["pytester"]

HANGING = """
    import threading, time, pytest

    def test_before(): ...

    def test_that_hangs():
        time.sleep(1_000)

    def test_after(): ...

    @pytest.fixture
    def thread():
        started = threading.Thread(target=time.sleep, args=(1_000,))
        started.start()
        yield
        started.join()
    """

END_HANGS = """
    def test_whose_end_hangs_too(thread):
        time.sleep(1_000)
    """


SKIPPING = """
    import pytest

    @pytest.mark.parametrize("reason", ["there is no npm here", "needs training/requirements.txt"])
    def test_with_a_tool(reason):
        pytest.skip(reason)
    """


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    text = ROOT.joinpath("tests/conftest.py").read_text(encoding="utf-8")
    limit = f"END_SECONDS = {conftest.END_SECONDS}"
    assert limit in text
    pytester.makeconftest(text.replace(limit, "END_SECONDS = 2"))
    pytester.makeini(f"[pytest]\npythonpath = {ROOT}\nmarkers = slow")
    return pytester


@pytest.mark.slow
def test_a_test_that_hangs_fails_alone(suite: pytest.Pytester) -> None:
    suite.makepyfile(HANGING)
    result = suite.runpytest_subprocess("--timeout", "5")
    result.assert_outcomes(passed=2, failed=1)


@pytest.mark.slow
def test_a_test_whose_end_hangs_ends_the_process(suite: pytest.Pytester) -> None:
    suite.makepyfile(HANGING + END_HANGS)
    result = suite.runpytest_subprocess("--timeout", "5")
    assert result.ret == 1
    result.stderr.fnmatch_lines(["Timeout (0:00:02)!"])


@pytest.mark.slow
def test_a_slow_test_has_more_time(suite: pytest.Pytester) -> None:
    suite.makepyfile(f"""
        import pytest

        @pytest.mark.slow
        def test_slow(request):
            assert request.node.get_closest_marker("timeout").args == ({conftest.SLOW_SECONDS},)

        def test_other(request):
            assert request.node.get_closest_marker("timeout") is None
        """)
    suite.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "failed"), [("", 0), ("1", 1)])
def test_a_missing_tool_fails_ci_alone(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: str, failed: int
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.delenv(conftest.ALL_TOOLS, raising=False)
    suite.makepyfile(SKIPPING)
    result = suite.runpytest_subprocess("-rf")
    result.assert_outcomes(skipped=2 - failed, failed=failed)
    assert ("there is no npm here: CI has to have it" in result.stdout.str()) == bool(failed)
