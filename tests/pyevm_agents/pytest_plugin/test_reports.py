"""Agent steps under a failed test and in JUnit's file."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.pyevm_agents.counting_suite import HEAD, INI, SAYING

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

STEPS = [
    "*- agent steps -*",
    "transaction 0x*: * gas (* EVM, * prompt, * output)",
    "2 steps; * cold and * warm tokens read, 84 written",
    "  1 SimpleAgent 0x*",
    "    Thought      I add.",
    "    Action       CounterTool",
    '    Input        {"amount": 5}',
    "    Observation  The counter is: 5",
    "    Gas          *",
    "  2 SimpleAgent 0x*",
    "    Answer       It is 5.",
]


@pytest.fixture
def suite(pytester: pytest.Pytester, facts: Path) -> Run:
    """Write a suite and run it."""
    pytester.makeini(f"{INI}cache_dir = {facts}\n")

    def run(text: str, *options: str) -> pytest.RunResult:
        pytester.path.joinpath("test_suite.py").write_text(HEAD + SAYING + dedent(text))
        return pytester.runpytest_inprocess(*options)

    return run


def test_steps_stand_under_a_test_that_failed(suite: Run) -> None:
    result = suite(
        """
        def test_fails(agent_chain):
            agent_chain.model.use_model(five())
            assert counted(agent_chain) == 6
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(STEPS)


def test_what_a_failed_sentence_shows_is_not_shown_again(suite: Run) -> None:
    result = suite(
        """
        from pyevm_agents.testing import assert_agent

        def asked(agent_chain):
            agent_chain.model.use_model(five())
            counted(agent_chain)
            return agent_chain.w3.eth.get_block("latest").transactions[0]

        def test_one(agent_chain):
            assert_agent(asked(agent_chain)).used("CounterTool").with_args(amount=6)

        def test_two(agent_chain):
            first, second = asked(agent_chain), asked(agent_chain)
            assert_agent(second).used("EchoTool")
        """
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*AssertionError: assert_agent(*).used('CounterTool')*"])
    # On CI pytest repeats whole messages in its summary.
    failures, _summary = result.stdout.str().split("short test summary info")
    one, two = failures.split("_ test_two _")
    assert one.count("Observation  The counter is: 5") == 1
    assert "agent steps" not in one
    assert two.count("Observation  The counter is: 5") == 2
    assert two.count("agent steps") == 1


def test_tests_that_pass_or_have_no_agents_are_as_ever(suite: Run) -> None:
    result = suite(
        """
        def test_passes(agent_chain):
            agent_chain.model.use_model(five())
            assert counted(agent_chain) == 5

        def test_fails_without_agents():
            assert 1 == 2
        """,
        "-rA",
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "agent steps" not in result.stdout.str()


def test_steps_of_what_never_ended_are_shown_as_well(suite: Run) -> None:
    result = suite(
        """
        def said(request):
            if any("Observation" in one.text[-60:] for one in request.segments):
                raise RuntimeError("no words left")
            return USE

        def test_stops(agent_chain):
            agent_chain.model.use_model(saying(said))
            counted(agent_chain)

        def test_reverts(agent_chain):
            agent_chain.model.use_model(saying(lambda request: USE))
            counted(agent_chain)
        """
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*- agent steps -*",
            "transaction 0x*",
            "    Observation  The counter is: 5",
            "   stopped: *no words left*",
            "*- agent steps -*",
            "transaction 0x*: * gas *",
            "  3 SimpleAgent 0x*",
            "   reverted: *",
        ]
    )


@pytest.mark.slow
def test_a_fixture_that_fails_shows_its_steps_and_the_last_ones_only(suite: Run) -> None:
    result = suite(
        """
        @pytest.fixture
        def busy(agent_chain):
            agent_chain.model.use_model(five())
            for _ in range(12):
                counted(agent_chain)
            raise ValueError("too busy")

        def test_never(busy): pass
        """
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["(4 earlier transactions not shown)"])
    assert result.stdout.str().count("The counter is: 5") == 8


def test_a_terminal_with_colours_has_coloured_steps(suite: Run) -> None:
    text = """
        def test_fails(agent_chain):
            agent_chain.model.use_model(five())
            assert counted(agent_chain) == 6
        """
    coloured = suite(text, "--color=yes").stdout.str()
    assert "\x1b[36m    Action       CounterTool\x1b[0m" in coloured
    assert "\x1b[36m" not in suite(text, "--color=no").stdout.str()


def test_junit_has_what_agents_cost(suite: Run, pytester: pytest.Pytester) -> None:
    suite(
        """
        @pytest.fixture
        def before(agent_chain):
            agent_chain.model.use_model(five())
            return counted(agent_chain)

        def test_counts(agent_chain, before):
            assert counted(agent_chain) == 5

        def test_plain(): pass
        """,
        "--junit-xml=junit.xml",
    ).assert_outcomes(passed=2)
    counts, plain = ET.parse(pytester.path / "junit.xml").iter("testcase")  # noqa: S314 - our own
    told = {one.attrib["name"]: int(one.attrib["value"]) for one in counts.iter("property")}
    assert told["agent_steps"] == 2
    assert told["agent_output_tokens"] == 84
    assert told["agent_gas"] == sum(told[f"agent_{part}"] for part in ("evm", "prompt", "output"))
    assert not [*plain.iter("property")]


def test_a_run_that_failed_before_its_first_step_is_shown_with_the_gas_it_needed(
    suite: Run,
) -> None:
    result = suite(
        """
        from pyevm_agents.testing import answer

        def test_it(agent_chain, deploy, model):
            agent = deploy(
                "SimpleAgent", agentExecutorContract=EXECUTOR, modelId="default", name="Clerk",
                description="Counts", inputDescription="What", basePrompt=PROMPT,
                tools=[deploy("CounterTool")], agentMaxIterations=3,
            )
            model.script(answer("It is 5."))
            assert agent_chain.ask(agent, QUESTION, gas=500_000)["status"] == 1
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- agent steps -*",
            "transaction 0x*: * gas (* EVM, 0 prompt, 0 output)",
            "   reverted: *a call of the executor at 0x* ran out of gas: it had *",
            "   out of gas: a gas limit of * would have been enough",
        ]
    )


def test_what_contracts_print_and_why_a_tool_reverted_are_shown(suite: Run) -> None:
    result = suite(
        """
        from eth_abi import encode
        from eth_utils import keccak
        from pyevm_agents.testing import faults, use

        def test_it(agent_chain, deploy, model):
            tool = deploy("RevertingTool", 0)
            agent = deploy(
                "SimpleAgent", agentExecutorContract=EXECUTOR, modelId="default", name="Clerk",
                description="Counts", inputDescription="What", basePrompt=PROMPT, tools=[tool],
                agentMaxIterations=3,
            )
            faults.tool(agent_chain, tool, faults.reverts("closed"))
            model.script(use("RevertingTool"))
            address = "0x" + b"console.log".hex().rjust(40, "0")
            console = agent_chain.w3.to_checksum_address(address)
            line = keccak(text="log(string)")[:4] + encode(["string"], ["hello"])
            agent_chain.w3.eth.send_transaction({"to": console, "data": line})
            agent_chain.ask(agent, QUESTION)
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- agent steps -*",
            "    Observation  (reverted: Error('closed'))",
            "   reverted: ToolCallFailed(tool=0x* (RevertingTool), reason=Error('closed'))",
            "*- console.log -*",
            "hello",
        ]
    )
