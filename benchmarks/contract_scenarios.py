"""Requests to an agent of the swap world: its calls against those that were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import decode, encode

from precompiles.abi import ParamType
from precompiles.react import GrammarViolationError
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import explain_failure, find_answer
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.errors import GrammarError
from pyevm_agents.scenarios.swap.agent import APPROVE, extract_calls
from pyevm_agents.scenarios.swap.requests import (
    CallLimits,
    is_ideal,
    list_expected_calls,
)
from training.tasks import Task, TaskStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.contenders import Contender
    from benchmarks.contract_agent import SwapStage
    from pyevm_agents.scenarios.swap.agent import AgentFunction, SwapAgent
    from pyevm_agents.scenarios.swap.requests import ExpectedCall
    from training.tasks import Argument


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRun:
    """A run of a request."""

    scenario: str
    question: str
    calls: tuple[ExpectedCall, ...]
    expected: tuple[ExpectedCall, ...]
    answer: str
    failure: str
    """Empty if the transaction succeeded, or was undone since the run is not done."""

    uses: int
    """Uses of tools."""

    encoded: int
    """Of these, those that the executor encoded for the tool."""

    @property
    def is_right(self) -> bool:
        """Whether the calls are those that were asked for, or rightly none with a reason."""
        answer = None if self.failure else self.answer
        return is_ideal(expected=self.expected, calls=self.calls, answer=answer)


def run_request(stage: SwapStage, scenario: str, question: str) -> RequestRun:
    """Send a question to the agent, and undo everything.

    Raises: EngineFault: the model failed.
    """
    sender, agent = stage.sender, stage.agent
    before = sender.chain.snapshot()
    try:
        prompt = encode(["string"], [question])
        arguments = ([(int(ParamType.STRING), prompt)], prompt)
        run = load_artifact("SimpleAgent").encode_call("run", arguments, bytes(20))
        sent = sender.send(agent.address, run)
        time = sent.block.header.timestamp
    except (GrammarError, GrammarViolationError) as error:
        return RequestRun(
            scenario=scenario, question=question, calls=(), answer="", uses=1, encoded=0,
            expected=(), failure=str(error).splitlines()[0],
        )  # fmt: skip
    finally:
        sender.chain.revert(before)
    limits = CallLimits(slippage_bps=agent.slippage_bps, deadline=time + agent.deadline_seconds)
    computation = sent.computation
    answer = find_answer(computation, _read_answer)
    steps = [step for step in extract_agent_steps(computation) if step.action is not None]
    return RequestRun(
        scenario=scenario,
        question=question,
        calls=extract_calls(computation, stage.market, agent),
        expected=list_expected_calls(stage.market, agent.account, scenario, limits),
        answer=answer or "",
        failure=explain_failure(computation) if answer is None else "",
        uses=len(steps),
        encoded=sum(step.inference.result is not None for step in steps),
    )


def _read_answer(output: bytes) -> str:
    _, answer = load_artifact("SimpleAgent").decode_result("run", output)
    return str(answer)


def build_task(
    agent: SwapAgent, question: str, expected: Sequence[ExpectedCall], refusal: str
) -> Task:
    """Return the ideal run of a question as a task: each expected call by its tool.

    An approval that the next tool gives by itself is no step.

    Input:  refusal: the answer where no call is expected.
    Raises: ValueError: the agent has no tool for a call.
    """
    steps = [
        _build_step(agent, question, call)
        for index, call in enumerate(expected)
        if not (call.data.startswith(APPROVE) and _is_given(agent, expected[index + 1 :]))
    ]
    return Task(
        category="one step" if steps else "no tool",
        kind="swap world",
        is_held_out=True,
        base_prompt="",
        tools=(),
        question=question,
        steps=tuple(steps),
        thought=question,
        answer="Done." if steps else refusal,
    )


def _is_given(agent: SwapAgent, later: Sequence[ExpectedCall]) -> bool:
    return bool(later) and _find_function(agent, later[0]).gives_approvals


def _build_step(agent: SwapAgent, question: str, call: ExpectedCall) -> TaskStep:
    function = _find_function(agent, call)
    given = _read_arguments(function, call)
    given["value"] = call.value_wei
    return TaskStep(
        thought=question,
        tool=function.name,
        arguments={parameter.name: given[parameter.name] for parameter in function.parameters},
        observation="",
    )


def _read_arguments(function: AgentFunction, call: ExpectedCall) -> dict[str, Argument]:
    types = split_types(function.signature)
    return dict(zip(function.argument_names, decode(types, call.data[4:]), strict=True))


def _is_equal(given: object, fixed: object) -> bool:
    """Compare values with addresses in any letter case."""
    return str(given).lower() == str(fixed).lower()


def _find_function(agent: SwapAgent, call: ExpectedCall) -> AgentFunction:
    for function in agent.functions.values():
        if function.contract == call.contract and call.data.startswith(function.selector):
            given = _read_arguments(function, call)
            if all(_is_equal(given[name], value) for name, value in function.fixed.items()):
                return function
    raise ValueError(f"{call.contract} {call.data[:4].hex()}: the agent has no tool for it")


def split_types(signature: str) -> list[str]:
    """Return the parameter types of a signature without tuples."""
    inner = signature.partition("(")[2].removesuffix(")")
    return inner.split(",") if inner else []


def run_scenarios(
    contender: Contender, stage: SwapStage, wordings: Mapping[str, Sequence[str]]
) -> Iterator[RequestRun]:
    """Run every wording of every scenario by a contender.

    Raises: EngineFault: the model failed.
    """
    agent = stage.agent
    for scenario, questions in wordings.items():
        limits = CallLimits(slippage_bps=agent.slippage_bps, deadline=0)
        expected = list_expected_calls(stage.market, agent.account, scenario, limits)
        for question in questions:
            contender.begin(build_task(agent, question, expected, stage.refusal))
            yield run_request(stage, scenario, question)
