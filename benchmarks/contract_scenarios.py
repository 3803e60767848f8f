"""Requests to an agent of the swap world: its calls against those that were asked for.

A run is right if the account's calls are the expected ones, byte for byte and in order, and if a
request for a function that the account cannot call makes none. Source of the rule: Berkeley
Function-Calling Leaderboard, "AST evaluation".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_abi import decode, encode
from eth_utils import function_signature_to_4byte_selector

from benchmarks.contract_access import select
from benchmarks.contract_wordings import ExpectedCall, Limits, list_expected_calls
from precompiles.abi import ParamType
from precompiles.react import GrammarViolationError
from pyevm_agents.agents.revert_reasons import explain_failure
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.contracts import load_artifact
from pyevm_agents.errors import GrammarError
from training.tasks import Task, TaskStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI
    from eth_typing import Address

    from benchmarks.contenders import Contender
    from precompiles.abi import ParamDescription
    from pyevm_agents.devnet.chain import DevelopmentAccount, ExecutedTransaction
    from pyevm_agents.devnet.swap_world import SwapWorld
    from training.tasks import Argument

APPROVE = bytes(function_signature_to_4byte_selector("approve(address,uint256)"))
REFUSALS = ("I cannot ", "I can't ")
"""How an answer begins that says why a request was not executed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFunction:
    """A function of a contract as a tool of an agent."""

    name: str
    """The tool's name."""

    contract: str
    """The contract's name in the world."""

    signature: str
    argument_names: tuple[str, ...]
    """Of the function, in its order."""

    parameters: tuple[ParamDescription, ...]
    """What the model is asked for: arguments by name, and `value`."""

    gives_approvals: bool = False
    """Whether the tool approves tokens by itself, as far as they are needed."""

    fixed: Mapping[str, object] = field(default_factory=dict)
    """Values of arguments that the tool sets to one value each, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapAgent:
    """An agent whose tools act through an account, with the `run` of the ERC's agents."""

    address: Address
    account: Address
    functions: Mapping[Address, AgentFunction]
    """By tool."""

    slippage_bps: int
    deadline_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRun:
    """A run of a request."""

    scenario: str
    question: str
    calls: tuple[ExpectedCall, ...]
    expected: tuple[ExpectedCall, ...]
    answer: str
    failure: str
    """Empty if the transaction succeeded."""

    uses: int
    """Uses of tools."""

    encoded: int
    """Of these, those that the executor encoded for the tool."""

    @property
    def is_right(self) -> bool:
        """Whether the calls are those that were asked for, or rightly none with a reason."""
        if self.failure or self.calls != self.expected:
            return False
        return bool(self.expected) or self.answer.startswith(REFUSALS)


def run_request(
    sender: DevelopmentAccount, world: SwapWorld, agent: SwapAgent, scenario: str, question: str
) -> RequestRun:
    """Send a question to the agent, and undo everything.

    Raises: EngineFault: the model failed.
    """
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
    limits = Limits(slippage_bps=agent.slippage_bps, deadline=time + agent.deadline_seconds)
    expected = list_expected_calls(world, agent.account, scenario, limits)
    return _read_run(sent, world, agent, scenario, question, expected)


def _read_run(  # noqa: PLR0913, PLR0917 - the parts of a run
    sent: ExecutedTransaction,
    world: SwapWorld,
    agent: SwapAgent,
    scenario: str,
    question: str,
    expected: tuple[ExpectedCall, ...],
) -> RequestRun:
    computation = sent.computation
    steps = [step for step in extract_agent_steps(computation) if step.action is not None]
    is_success = sent.is_success
    return RequestRun(
        scenario=scenario,
        question=question,
        calls=extract_calls(computation, world, agent),
        expected=expected,
        answer=_read_answer(computation.output) if is_success else "",
        failure="" if is_success else explain_failure(computation),
        uses=len(steps),
        encoded=sum(step.inference.result is not None for step in steps),
    )


def _read_answer(output: bytes) -> str:
    _, answer = load_artifact("SimpleAgent").decode_result("run", output)
    return str(answer)


def extract_calls(
    computation: ComputationAPI, world: SwapWorld, agent: SwapAgent
) -> tuple[ExpectedCall, ...]:
    """Return the calls of tools' own functions, and approvals, that tools and account made.

    Calls that were reverted do not count, nor do reads that a tool makes for its own purposes.
    """
    names = {contract.address: contract.name for contract in world.contracts.values()}
    return tuple(
        ExpectedCall(contract=names[call.to], data=call.data, value_wei=call.value_wei)
        for call in _iter_calls(computation, agent, None)
        if call.to in names
    )


@dataclass(frozen=True, slots=True)
class _Call:
    to: Address
    data: bytes
    value_wei: int


def _iter_calls(
    computation: ComputationAPI, agent: SwapAgent, tool: Address | None
) -> Iterator[_Call]:
    for child in computation.children:
        message = child.msg
        if child.is_error:
            continue
        within = message.to if message.to in agent.functions else tool
        is_call = message.code_address == message.storage_address
        if is_call and tool is not None and message.sender in {agent.account, tool}:
            call = _Call(message.to, bytes(message.data), message.value)
            if _is_own(
                call, agent.functions[tool], sender_is_account=message.sender == agent.account
            ):
                yield call
        yield from _iter_calls(child, agent, within)


def _is_own(call: _Call, function: AgentFunction, *, sender_is_account: bool) -> bool:
    selector = call.data[:4]
    return selector == select(function.signature) or (sender_is_account and selector == APPROVE)


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
        if function.contract == call.contract and call.data.startswith(select(function.signature)):
            given = _read_arguments(function, call)
            if all(_is_equal(given[name], value) for name, value in function.fixed.items()):
                return function
    raise ValueError(f"{call.contract} {call.data[:4].hex()}: the agent has no tool for it")


def split_types(signature: str) -> list[str]:
    """Return the parameter types of a signature without tuples."""
    inner = signature.partition("(")[2].removesuffix(")")
    return inner.split(",") if inner else []


def run_scenarios(  # noqa: PLR0913, PLR0917 - the parts of a run
    contender: Contender,
    sender: DevelopmentAccount,
    world: SwapWorld,
    agent: SwapAgent,
    wordings: Mapping[str, Sequence[str]],
    refusal: str,
) -> Iterator[RequestRun]:
    """Run every wording of every scenario by a contender.

    Input:  refusal: the line of the base prompt that answers `admin`.
    Raises: EngineFault: the model failed.
    """
    for scenario, questions in wordings.items():
        limits = Limits(slippage_bps=agent.slippage_bps, deadline=0)
        expected = list_expected_calls(world, agent.account, scenario, limits)
        for question in questions:
            contender.begin(build_task(agent, question, expected, refusal))
            yield run_request(sender, world, agent, scenario, question)
