"""`assert_agent`: passed and failed assertions, and the text of a failure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_canonical_address

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing import assert_agent
from pyevm_agents.testing.run_log import AgentRun
from tests.pyevm_agents.testing.sample_runs import ASSET, INNER, NESTED, OUTER, RUN, answered, used
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.testing.assertions import AgentAssertion

AGENT = assert_agent(RUN)


class Contract:
    """The part of a web3.py contract that assertions read."""

    address = ASSET


HOLDS: dict[str, Callable[[], AgentAssertion]] = {
    "used": lambda: AGENT.used("Deploy").with_args(amount=5),
    "used later": lambda: AGENT.used("Deploy").with_args(amount=10).tool_reverted(),
    "the first step": lambda: AGENT.then_used("View").with_args(asset=ASSET.lower()),
    "bytes": lambda: AGENT.used("View").with_args(asset=to_canonical_address(ASSET)),
    "a contract": lambda: AGENT.used("View").with_args(asset=Contract()),
    "names by mapping": lambda: AGENT.used("View").with_args({"asset": ASSET}),
    "lists": lambda: AGENT.used("Deploy").with_args(tags=("a", "b"), isFast=True),
    "functions": lambda: AGENT.used("Deploy").with_args(amount=lambda it: it > 9),
    "patterns": lambda: AGENT.used("helper").with_args(prompt=re.compile(r"\d")),
    "next": lambda: AGENT.then_used("View").then_used("Deploy").observed("Deposited"),
    "any of two": lambda: AGENT.used("Deploy").then_answered(),
    "over a nested agent": lambda: AGENT.used("helper").then_used("Deploy"),
    "later": lambda: AGENT.used("View").later_used("Counter").later_used("Deploy"),
    "a nested agent": lambda: AGENT.used("Counter").then_answered("It is 7."),
    "of": lambda: AGENT.of(INNER).then_used("Counter").then_answered(),
    "of twice": lambda: AGENT.of(INNER).answered("It is 7.").of(OUTER).then_used("View"),
    "steps of one": lambda: AGENT.of(INNER).in_steps(2).did_not_use("Deploy"),
    "not used": lambda: AGENT.did_not_use("Withdraw", "Drain").used("View"),
    "observed": lambda: AGENT.used("View").observed(re.compile("1")).observed(str.isdigit),
    "thought": lambda: AGENT.used("View").thought(re.compile("should")),
    "answered": lambda: AGENT.answered("Deposited 5, not 10.").thought("I know."),
    "answered by pattern": lambda: AGENT.answered(re.compile("not 10")),
    "steps": lambda: AGENT.in_steps(7).in_steps(at_most=7).answered(),
    "cost": lambda: AGENT.cost(less_than=6_000_001).cost("output", less_than=1_400_001),
    "cost of one": lambda: AGENT.of(INNER).cost("output", less_than=400_001),
    "evm": lambda: AGENT.cost("evm", less_than=377_601).cost("prompt", less_than=5_000_000),
    "succeeded": AGENT.succeeded,
    "no answer": lambda: assert_agent(NESTED[:3]).did_not_answer(),
}

FAILS: dict[str, tuple[Callable[[], AgentAssertion], str]] = {
    "never used": (
        lambda: AGENT.used("Withdraw"),
        r"\.used\('Withdraw'\) does not hold:\nWithdraw was not used; tools used: View, Deploy",
    ),
    "not by one": (
        lambda: AGENT.of(INNER).used("Deploy"),
        r"\.of\(0x[0b]+\)\.used\('Deploy'\) .*\n.*; this agent used Counter",
    ),
    "no such agent": (
        lambda: AGENT.of(ASSET),
        r"took no step; agents with steps: 0x0A0A.*, 0x0B0b",
    ),
    "another argument": (
        lambda: AGENT.used("Deploy").with_args(amount=6, isFast=1),
        r"at step 2 amount is 5, not 6 and isFast is true, not 1; at step 6 amount is 10, not 6",
    ),
    "no such argument": (
        lambda: AGENT.used("View").with_args(amont=1),
        "at step 1 there is no argument amont; the arguments are asset$",
    ),
    "another address": (
        lambda: AGENT.used("View").with_args(asset=bytes(20)),
        f'asset is "{ASSET}", not 0x{"0" * 40}',
    ),
    "another next": (
        lambda: AGENT.then_used("View").then_used("helper"),
        r"then_used\('View'\)\.then_used\('helper'\) does not hold:\nstep 2 used Deploy$",
    ),
    "none later": (
        lambda: AGENT.used("helper").later_used("View"),
        "View was not used after step 3",
    ),
    "another answer": (
        lambda: AGENT.answered("Deposited 5"),
        r"at step 7 the answer was 'Deposited 5, not 10\.', not 'Deposited 5' \(a part of it",
    ),
    "no answer yet": (
        lambda: AGENT.used("View").then_answered("done"),
        "step 2 used Deploy$",
    ),
    "no step after": (
        lambda: AGENT.answered().then_used("View"),
        "the agent took no step after step 7$",
    ),
    "an answer": (AGENT.did_not_answer, "there is a final answer$"),
    "no final answer": (lambda: assert_agent(NESTED[:3]).answered(), "there is no final answer$"),
    "another observation": (
        lambda: AGENT.used("View").observed("11"),
        "at step 1 the observation was '10', not '11'$",
    ),
    "nothing observed": (
        lambda: AGENT.used("Deploy").with_args(amount=10).observed("Deposited"),
        "at step 6 the observation was empty: the tool reverted$",
    ),
    "no revert": (lambda: AGENT.used("View").tool_reverted(), "at step 1 the tool returned '10'$"),
    "another thought": (
        lambda: AGENT.used("View").thought(re.compile("^x")),
        "the thought was 'I sh",
    ),
    "used after all": (
        lambda: AGENT.did_not_use("Counter", "Other"),
        "at step 4 Counter was used$",
    ),
    "steps": (lambda: AGENT.in_steps(6), "there are 7 steps$"),
    "too many steps": (lambda: AGENT.in_steps(at_most=6), r"in_steps\(at_most=6\) .*\nthere are 7"),
    "cost": (
        lambda: AGENT.cost(less_than=6_000_000),
        r"cost\(less_than=6_000_000\) .*\nthe cost was 6,000,000 gas: 1 too much$",
    ),
    "cost of output": (
        lambda: AGENT.cost("output", less_than=1_000_000),
        "the cost was 1,400,000 output gas: 400,001 too much$",
    ),
    "failed": (AGENT.failed, "the transaction succeeded$"),
}

MISUSED: dict[str, tuple[Callable[[], AgentAssertion], str]] = {
    "arguments of nothing": (lambda: AGENT.with_args(amount=1), r"with_args\(…\) needs the use"),
    "arguments of an answer": (lambda: AGENT.answered().with_args(a=1), "call used"),
    "observed by nobody": (lambda: AGENT.observed("x"), "call used"),
    "a thought of nobody": (lambda: AGENT.thought("x"), "call used"),
    "no address": (lambda: AGENT.of("helper"), "'helper' is not an agent"),
    "steps without a number": (AGENT.in_steps, "takes either"),
    "a part there is not": (
        lambda: AGENT.cost("input", less_than=1),  # type: ignore[arg-type]
        r"cost\('input'\): must be one of gas",
    ),
    "gas of steps alone": (lambda: assert_agent(NESTED).cost(less_than=9), "receipt or hash"),
}


@pytest.mark.parametrize("name", HOLDS)
def test_what_holds_can_be_said_on(name: str) -> None:
    sentence = HOLDS[name]()
    assert sentence.calls
    assert sentence.succeeded().calls[-1] == "succeeded()"


@pytest.mark.parametrize("name", FAILS)
def test_what_does_not_hold_says_what_was_so(name: str) -> None:
    say, told = FAILS[name]
    with pytest.raises(AssertionError) as failed:
        say()
    head = str(failed.value).split("\n\n", 1)[0]
    assert head.startswith("assert_agent(…).")
    assert re.search(told, head)


@pytest.mark.parametrize("name", MISUSED)
def test_what_means_nothing_is_refused(name: str) -> None:
    say, told = MISUSED[name]
    with pytest.raises(ConfigError, match=told):
        say()


def test_a_failure_shows_every_step_and_marks_those_it_is_about() -> None:
    with pytest.raises(AssertionError) as failed:
        AGENT.used("Deploy").with_args(amount=6)
    lines = str(failed.value).split("\n\n", 1)[1].split("\n")
    assert lines[0].startswith("transaction 0x00010203…1d1e1f: 6,000,000 gas")
    marked = [line for line in lines if line.startswith(">")]
    assert [line[:3] for line in marked if re.match(r">[ \d]\d", line)] == ["> 2", "> 6"]
    assert [line for line in marked if "^" in line] == [
        ">   ^ amount is 5, not 6",
        ">   ^ amount is 10, not 6",
    ]
    assert [line for line in lines if re.match(r"[> ][ \d]\d ", line)][3].startswith("  4     0x0B")


def test_a_run_without_steps_has_nothing_to_be_said_of() -> None:
    with pytest.raises(AssertionError, match=r"^no agent took a step in this transaction$"):
        assert_agent(AgentRun(steps=()))


def test_of_a_run_that_failed_before_its_first_step_it_is_said_that_it_did() -> None:
    failed = assert_agent(AgentRun(steps=(), failure="Undone()"))
    failed.failed("Undone()").did_not_answer().did_not_use("Deploy").in_steps(0)
    cases: dict[Callable[[], AgentAssertion], str] = {
        failed.succeeded: "the transaction reverted: Undone",
        failed.answered: "there is no final answer",
        failed.then_answered: "no agent took a step",
        lambda: failed.used("Deploy"): "Deploy was not used; tools used: no tool",
        lambda: failed.then_used("Deploy"): "no agent took a step",
        lambda: failed.of(OUTER): "this agent took no step; agents with steps: none",
    }
    for untrue, why in cases.items():
        with pytest.raises(AssertionError, match=rf"does not hold:\n{why}"):
            untrue()


ANY: Any = AGENT
"""What a user says who has no types checked."""


@pytest.mark.parametrize(
    ("say", "message"),
    [
        (
            lambda: ANY.did_not_use(Contract()),
            r"did_not_use\(<.*Contract object at .*\): must be a tool's name",
        ),
        (
            lambda: ANY.did_not_use(["Deploy"]),
            r"did_not_use\(\['Deploy'\]\): must be a tool's name",
        ),
        (ANY.did_not_use, "needs the name of a tool"),
        (lambda: ANY.used(None), r"used\(None\): must be a tool's name"),
        (lambda: ANY.then_used(Contract()), r"then_used\(.*\): must be a tool's name"),
        (lambda: ANY.later_used(3), r"later_used\(3\): must be a tool's name"),
        (lambda: ANY.used("View").with_args(1), r"with_args\(1\): give arguments by name"),
        (lambda: ANY.used("View").observed(1), "1 is not a text"),
        (lambda: ANY.answered(["x"]), r"\['x'\] is not a text"),
        (lambda: ANY.cost(less_than="5"), r"cost\(less_than='5'\): must be a whole number"),
        (lambda: ANY.in_steps("3"), r"in_steps\('3'\): must be a whole number"),
        (lambda: ANY.in_steps(at_most=True), r"in_steps\(True\): must be a whole number"),
        (lambda: ANY.in_steps(-1), r"in_steps\(-1\): must be a whole number, 0 to"),
    ],
)
def test_what_can_not_be_so_is_refused(say: Callable[[], AgentAssertion], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        say()


def test_a_failed_transaction_has_its_reason() -> None:
    failed = assert_agent(replace(RUN, failure="ToolCallFailed(reason=Undone())"))
    failed.failed().failed(re.compile("Undone"))
    with pytest.raises(AssertionError, match=r"ToolCall.*; a text is compared as a whole, and"):
        failed.failed("Undone()")
    with pytest.raises(AssertionError, match="the transaction reverted: ToolCall"):
        failed.succeeded()


@pytest.mark.parametrize("said", REFUSALS)
def test_a_run_that_is_not_done_is_told_from_one_that_is(said: str) -> None:
    refused = (*NESTED[:-1], replace(NESTED[-1], answer=said))
    undone = AgentRun(steps=NESTED, failure=f"NotDone(answer={said!r})", not_done=said)
    for run in (assert_agent(AgentRun(steps=refused)), assert_agent(undone)):
        run.was_not_done().was_not_done(said).was_not_done(re.compile(re.escape(said)))
        with pytest.raises(AssertionError, match="the answer was "):
            run.was_not_done("Failed to pay")
        with pytest.raises(AssertionError, match=r"does not hold:\nthe (answer was|transaction)"):
            run.was_done()
    done = assert_agent(AgentRun(steps=NESTED)).was_done()
    assert done.calls == ("was_done()",)
    with pytest.raises(AssertionError, match=r"the answer was 'Deposited 5, not 10\.'"):
        done.was_not_done()
    with pytest.raises(AssertionError, match="Undone"):
        assert_agent(AgentRun(steps=NESTED, failure="Undone()")).was_not_done()


def test_two_agents_in_one_transaction_are_not_mixed_up() -> None:
    steps = (used("A"), used("B", agent=INNER), answered("one"), answered("two", agent=INNER))
    with pytest.raises(AssertionError, match="took no step after step 1"):
        assert_agent(steps).used("A").then_used("B")
    assert_agent(steps).answered("two").of(OUTER).answered("one")
