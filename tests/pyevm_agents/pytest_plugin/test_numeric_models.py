"""Numeric models in a user's suite: marker, option, configuration, and pages of failed tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.server.recorded_page import read_recorded_page
from tests.numeric_file import build_numeric_file
from tests.pyevm_agents.counting_suite import INI

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

HEAD = """
import pytest
from eth_abi import decode, encode

MODELS = "0x" + "1a".rjust(40, "0")

def names(chain):
    return [each.name for each in chain.chain.config.numeric_models]

def run(chain, name, *values):
    data = bytes.fromhex("439ccf80") + encode(["string", "int256[]"], [name, values])
    output = chain.w3.eth.call({"to": MODELS, "data": data})
    return decode(["int256[]"], output)[0]
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, facts: Path) -> Run:
    """Write a suite, with a model's file in its folder and another below it, and run it."""
    below = pytester.mkdir("below")
    (pytester.path / "line.onnx").write_bytes(build_numeric_file())
    (below / "line.onnx").write_bytes(build_numeric_file(5))

    def run(text: str, *options: str, ini: str = "") -> pytest.RunResult:
        pytester.makeini(f"{INI}cache_dir = {facts}\n{ini}")
        pytester.path.joinpath("test_suite.py").write_text(HEAD + dedent(text))
        return pytester.runpytest_inprocess(*options)

    return run


CHOSEN = """
    def test_run(agent_chain):
        assert names(agent_chain) == RUN

    @pytest.mark.agent_numeric_models({"a": "line.onnx", "b": "risk"})
    def test_marker(agent_chain):
        assert run(agent_chain, "a", 1, 2) == (4, 7)
        assert run(agent_chain, "b", *[0] * 20) == (0,)

    @pytest.mark.agent_numeric_models([])
    def test_none(agent_chain):
        assert names(agent_chain) == []
    """


def test_models_are_chosen(suite: Run) -> None:
    suite(CHOSEN.replace("RUN", "[]")).assert_outcomes(passed=3)
    ini = "agent_numeric_models =\n    line=line.onnx\n    sentiment"
    suite(CHOSEN.replace("RUN", "['line', 'sentiment']"), ini=ini).assert_outcomes(passed=3)
    options = ("--agent-numeric-model=risk", "--agent-numeric-model", "b=line.onnx")
    suite(CHOSEN.replace("RUN", "['b', 'risk']"), *options, ini=ini).assert_outcomes(passed=3)


def test_a_path_in_the_configuration_is_from_the_root_and_an_options_from_here(
    suite: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
        def test_run(agent_chain):
            assert run(agent_chain, "line", 1, 2) == OUTPUT
        """
    root = f"--rootdir={pytester.path}", f"-c{pytester.path / 'tox.ini'}", str(pytester.path)
    monkeypatch.chdir(pytester.path / "below")
    ini = "agent_numeric_models = line=line.onnx"
    suite(text.replace("OUTPUT", "(4, 7)"), *root, ini=ini).assert_outcomes(passed=1)
    option = "--agent-numeric-model=line=line.onnx"
    suite(text.replace("OUTPUT", "(6, 11)"), *root, option, ini=ini).assert_outcomes(passed=1)


def test_a_mistake_is_told(suite: Run) -> None:
    result = suite(
        """
        def test_run(agent_chain): ...

        @pytest.mark.agent_numeric_models(["default=risk"])
        def test_taken(agent_chain): ...

        @pytest.mark.agent_numeric_models({"a": "gone.onnx"})
        def test_file(agent_chain): ...

        @pytest.mark.agent_numeric_models("a=risk", "b=risk")
        def test_marker(agent_chain): ...

        @pytest.mark.agent_numeric_models(["risk"])
        def test_module(module_agent_chain): ...
        """,
        "--agent-numeric-model=line.onnx",
    )
    result.assert_outcomes(errors=5)
    result.stdout.fnmatch_lines_random(
        [
            "*'line.onnx': must be NAME=FILE, such as line=line.onnx*",
            "*two models are called 'default'; give each its own name*",
            "*numeric model a=gone.onnx: model file *gone.onnx can't be read*",
            "*the marker agent_numeric_models of *takes files by name, or one list*",
        ]
    )


def test_the_models_of_a_module_are_those_of_its_marker(suite: Run) -> None:
    result = suite(
        """
        pytestmark = pytest.mark.agent_numeric_models(["line=line.onnx"])

        def test_module(agent_chain, module_agent_chain):
            assert run(module_agent_chain, "line", 1, 2) == (4, 7)

        @pytest.mark.agent_numeric_models(["risk"])
        def test_of_its_own(module_agent_chain): ...
        """
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*marker agent_numeric_models of *test_of_its_own has no effect*"])


@pytest.mark.slow
def test_a_failed_test_has_a_page_with_the_call(suite: Run, pytester: pytest.Pytester) -> None:
    result = suite(
        """
        @pytest.mark.agent_numeric_models(["line=line.onnx"])
        def test_fails(agent_chain, w3):
            data = bytes.fromhex("439ccf80") + encode(["string", "int256[]"], ["line", [1, 2]])
            w3.eth.send_transaction({"to": MODELS, "data": data})
            assert names(agent_chain) == []
        """,
        "--agent-html=failed",
    )
    result.assert_outcomes(failed=1)
    (file,) = pytester.path.joinpath("failed").iterdir()
    results = read_recorded_page(file.read_text()).results
    (calls,) = [x for key, x in results.items() if json.loads(key)[0] == "agent_traceCalls"]
    assert '"runModel"' in calls
