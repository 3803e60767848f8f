"""Errors of the kit show the test's own lines and the message."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.counting_suite import HEAD, INI, SAYING

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

KIT = (
    "testing/chain.py",
    "testing/artifacts.py",
    "testing/model_stub.py",
    "pytest_plugin/plugin.py",
)


@pytest.fixture
def suite(pytester: pytest.Pytester, facts: Path) -> Run:
    """Write a suite and run it."""
    pytester.makeini(f"{INI}cache_dir = {facts}\n")

    def run(text: str, *options: str) -> pytest.RunResult:
        pytester.path.joinpath("test_suite.py").write_text(HEAD + SAYING + dedent(text))
        return pytester.runpytest_inprocess(*options)

    return run


TYPO = """
    def deployed(deploy):
        return deploy("CounterTol")

    def test_typo(deploy):
        deployed(deploy)
"""


def test_a_refusal_shows_the_lines_of_the_test_alone(suite: Run) -> None:
    result = suite(TYPO)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       deployed(deploy)",
            '>       return deploy("CounterTol")',
            "E       *ConfigError: there is no contract 'CounterTol'; near are *",
            "FAILED test_suite.py::test_typo - there is no contract 'CounterTol'; near *",
        ],
    )
    for file in KIT:
        result.stdout.no_fnmatch_line(f"*{file}*")


CAUSED = """
    def test_argument(deploy):
        deploy("SimpleAgent", "0x" + "00" * 19 + "19", "m", "n", "d", "i", "b", 5, 3)

    def test_pattern(model):
        model.when("(", None)

    def test_step(model):
        from pyevm_agents.testing import use
        use("CounterTool", amount=1.5)
"""


def test_what_a_refusal_came_of_is_not_shown(suite: Run) -> None:
    result = suite(CAUSED)
    result.assert_outcomes(failed=3)
    for others in (
        "*direct cause*",
        "*re/_parser.py*",
        "*testing/compiled_contract.py*",
        "*script_steps.py*",
    ):
        result.stdout.no_fnmatch_line(others)
    assert len(result.outlines) < 60
    suite(CAUSED, "--full-trace").stdout.fnmatch_lines(["*direct cause*"])


def test_a_refusal_that_came_of_the_tests_own_code_shows_it(suite: Run) -> None:
    result = suite(
        """
        from pyevm_agents.errors import ConfigError

        def wrong():
            raise KeyError("mine")

        def test_mine(deploy):
            try:
                wrong()
            except KeyError as error:
                raise ConfigError("told") from error
        """
    )
    result.stdout.fnmatch_lines(["*KeyError: 'mine'*", "*direct cause*", "*ConfigError: told"])


def test_all_frames_are_there_for_who_wants_them(suite: Run) -> None:
    suite(TYPO, "--full-trace").stdout.fnmatch_lines(["*testing/artifacts.py:*"])


def test_what_no_line_of_the_test_did_is_a_message(suite: Run) -> None:
    result = suite(
        """
        from pyevm_agents.testing import answer

        @pytest.mark.agent_model("gpt")
        def test_of_another_model(agent_chain):
            pass

        def test_with_words_left(model):
            model.when("Add", answer("no"))
        """
    )
    result.assert_outcomes(errors=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_of_another_model*",
            "there is no model 'gpt', and no file; *",
            "*test_with_words_left*",
            "when('Add') has steps that were not requested:",
            "FAILED test_suite.py::test_with_words_left - when('Add') has steps *",
            "ERROR test_suite.py::test_of_another_model - there is no model 'gpt', *",
        ]
    )
    for file in KIT:
        result.stdout.no_fnmatch_line(f"*{file}*")


def test_a_revert_shows_the_line_that_sent_it(suite: Run) -> None:
    result = suite(
        """
        def test_reverts(agent_chain, deploy):
            switch = deploy("OwnedSwitch", agent_chain.accounts[0])
            with agent_chain.as_account(agent_chain.accounts[1]):
                switch.functions.adminFunction().transact()
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*switch.functions.adminFunction().transact()",
            "E*",
            "FAILED test_suite.py::test_reverts - execution reverted: NotOwner(*",
        ]
    )
    result.stdout.no_fnmatch_line("*site-packages/web3/*")


def test_other_errors_keep_their_frames(suite: Run) -> None:
    result = suite(
        """
        def test_wrong_call(agent_chain):
            agent_chain.forget_snapshot(99)
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*testing/chain.py:*"])


def test_an_error_of_a_tests_function_shows_the_lines_of_the_test_alone(suite: Run) -> None:
    text = """
        def found(names):
            return sorted(names, key=lambda name: {}[name])

        def test_respond(agent_chain, model):
            model.respond(lambda request: found(["x"]))
            counted(agent_chain)
        """
    result = suite(text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*counted(agent_chain)",
            "*agent_chain.ask(agent, *",
            "*model.respond(lambda request: found*",
            "*return sorted(names*",
            "E*KeyError: 'x'",
            "FAILED test_suite.py::test_respond - KeyError: 'x'",
        ]
    )
    for file in ("site-packages/web3", "testing/", "models/"):
        result.stdout.no_fnmatch_line(f"*{file}*")
    suite(text, "--full-trace").stdout.fnmatch_lines(["*site-packages/web3/*"])
