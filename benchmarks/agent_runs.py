"""An agent's run as a transaction, and its steps as the chain records them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas
from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError

from precompiles.abi import ToolUse
from precompiles.react import GrammarViolationError
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.agents.failures import find_answer
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.errors import GrammarError
from pyevm_agents.model_registry.profiles import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import ComputationAPI
    from eth_typing import Address

    from precompiles.language_model import Confidence
    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.devnet.local_account import LocalAccount

MAX_ITERATIONS = 8
"""Most iterations of an agent: four steps, an answer, and three too many."""

STRING_TYPE = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A use of a tool, as its contract was called."""

    tool: str
    arguments: bytes
    """`abiEncodedParams`."""

    encodes: bool
    """Whether the call has the model's arguments, in their parameters' types."""

    shown: str
    """The model's arguments, with addresses in full."""

    observation: str | None
    """The tool's answer; None if it reverted."""

    confidence: Confidence | None = None
    """How sure the model was; None in the free format, for a model without weights, and for a use
    that the rules decided."""

    is_decided: bool = False
    """Whether the rules decided it, so that no model was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """The result of a question."""

    uses: tuple[Use, ...]
    """In order; of a reverted run, the steps before the revert."""

    answer: str | None
    """Also of a run that was undone since it is not done; None if the transaction reverted for
    another reason."""

    failure: str | None
    """The reason of a revert, in words; None of a run with an answer."""

    gas_used: int
    seconds: float

    @property
    def is_success(self) -> bool:
        """Whether it answered. Its effects remain if the answer is done."""
        return self.failure is None


def deploy_agent(account: LocalAccount, base_prompt: str, tools: Sequence[Address]) -> Address:
    """Deploy a `SimpleAgent`.

    Raises: RevertedError: it does not fit into a block.
    """
    texts = ("Agent", "Does what it is asked", "what to do", base_prompt)
    creation = load_artifact("SimpleAgent").encode_creation(
        EXECUTOR_ADDRESS, ALIASES[0], *texts, list(tools), MAX_ITERATIONS
    )
    return account.deploy(creation)


def run_agent(account: LocalAccount, agent: Address, question: str) -> AgentRun:
    """Send a question to an agent in one transaction with all the gas of a block.

    Raises: EngineFault: the model failed.
    """
    prompt = encode(["string"], [question])
    data = load_artifact("SimpleAgent").encode_call(
        "run", ([(STRING_TYPE, prompt)], prompt), bytes(20)
    )
    start = time.perf_counter()
    try:
        sent = account.send(agent, data)
    except (GrammarError, GrammarViolationError) as error:
        return _without_words(error, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    computation = sent.computation
    artifact = load_artifact("SimpleAgent")
    answer = find_answer(computation, lambda output: artifact.decode_result("run", output)[1])
    return AgentRun(
        uses=tuple(_uses(computation)),
        answer=answer,
        failure=_failure(computation) if answer is None else None,
        gas_used=sent.receipt.gas_used,
        seconds=seconds,
    )


def _failure(computation: ComputationAPI) -> str:
    """Return the reason of a revert; an agent passes on its model's out-of-gas without a reason."""
    inner = computation
    while inner.children and inner.children[-1].is_error:
        inner = inner.children[-1]
    if isinstance(inner.error, OutOfGas):
        return f"out of gas: {inner.error}"
    return decode_revert(computation.output)


def _without_words(error: Exception, seconds: float) -> AgentRun:
    """Return the run of a model whose output fits no grammar or no block."""
    reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    use = Use(tool="", arguments=b"", encodes=False, shown="", observation=None)
    return AgentRun(uses=(use,), answer=None, failure=reason, gas_used=0, seconds=seconds)


def _uses(computation: ComputationAPI) -> Iterator[Use]:
    """Yield the tool uses of a run, each with the call of its contract."""
    calls = [child for child in computation.children if child.msg.to != EXECUTOR_ADDRESS]
    steps = [step for step in extract_agent_steps(computation) if step.action is not None]
    # The gas may end between a step and its call.
    for step, call in zip(steps, calls, strict=False):
        arguments = _arguments(bytes(call.msg.data))
        yield Use(
            tool=step.action or "",
            arguments=arguments,
            encodes=_is_written(step, arguments),
            shown=step.action_input or "",
            observation=step.observation,
            confidence=step.confidence,
            is_decided=step.inference.is_decided,
        )


def _arguments(data: bytes) -> bytes:
    """Return the `abiEncodedParams` of a call of `run`; empty for another call."""
    try:
        (_, arguments), _ = decode(["((uint8,bytes)[],bytes)", "address"], data[4:])
    except DecodingError:
        return b""
    return bytes(arguments)


def _is_written(step: AgentStep, arguments: bytes) -> bool:
    """Return whether a tool's contract got the model's values, in the types of its description."""
    result = step.inference.result
    if not isinstance(result, ToolUse):
        return False
    types = [param_type.abi_type for param_type in result.param_types]
    try:
        return encode(types, decode(types, arguments)) == encode(types, result.values)
    except (DecodingError, OverflowError, UnicodeDecodeError):
        return False
