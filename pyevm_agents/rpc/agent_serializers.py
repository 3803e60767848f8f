"""Serializers of agent traces: a tree, because an agent may be the tool of another agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.abi.address_names import AddressNames, list_addresses
from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.agents.trace import find_closest_step, serialize_confidence
from pyevm_agents.models.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eth_typing import Address

    from precompiles.language_model import Margin
    from pyevm_agents.agents.failures import Failure
    from pyevm_agents.agents.trace import AgentTrace, InferenceUsage, TracedStep
    from pyevm_agents.rpc.serializers import Json


NO_NAMES = AddressNames(known=BUNDLED, get_code=lambda _address: b"")
"""The bundled contracts' errors, and no contract at any address."""


def serialize_trace(
    transaction_hash: bytes | None, trace: AgentTrace, names: AddressNames = NO_NAMES
) -> Json:
    """Serialize the trace of a transaction's agents, or of a call's, which has no hash.

    Output: `isSuccess`, and the `reason` of a failure, which reverts the effects of the tools;
            `steps`, each with a nested agent's steps as `steps`; tokens and gas of each step and in
            total; `closest`, the number of the step with the closest decision, counted from 1 in
            the order of execution; `names` by address, from the agents' base prompts and from known
            contracts.
    """
    usage = trace.usage
    forms = [
        serialize_step(step, number, names) for number, step in enumerate(trace.steps, start=1)
    ]
    reasons = [str(form["reason"]) for form in forms if form["reason"] is not None]
    outermost = [step.agent for step in trace.steps if not step.depth][-1:]
    reason = explain_failure(trace.failure, outermost, names)
    closest = find_closest_step(trace.steps)
    return {
        "transactionHash": None if transaction_hash is None else "0x" + transaction_hash.hex(),
        "isSuccess": trace.failure is None,
        "reason": reason,
        "gas": serialize_gas(trace),
        "tokens": _serialize_tokens(usage),
        "closest": None if closest is None else closest + 1,
        "names": _find_names(trace, [reason or "", *reasons], names),
        "steps": _build_step_tree(trace.steps, forms),
    }


def serialize_gas(trace: AgentTrace) -> Json:
    """Serialize the gas of a transaction: in all, by the EVM, for prompts and for outputs."""
    usage = trace.usage
    return {
        "used": trace.gas_used,
        "evm": trace.gas_used - usage.prompt_gas - usage.output_gas,
        "prompt": usage.prompt_gas,
        "output": usage.output_gas,
    }


def serialize_step(step: TracedStep, number: int, names: AddressNames = NO_NAMES) -> Json:
    """Serialize one step, without the steps of the nested agent."""
    return {
        "number": number,
        "depth": step.depth,
        "agent": to_checksum_address(step.agent),
        "model": step.model,
        "prompt": step.prompt,
        "handles": dict(step.handles),
        "thought": step.decision.thought,
        "action": step.decision.action,
        "input": step.decision.action_input,
        "tool": None if step.tool is None else to_checksum_address(step.tool),
        "observation": step.observation,
        "reason": explain_failure(
            step.tool_failure, [] if step.tool is None else [step.tool], names
        ),
        "answer": step.decision.answer,
        **serialize_cost(
            step.usage, step.margin, Timing(seconds=step.seconds, is_cached=step.is_cached)
        ),
        **serialize_confidence(step.confidence),
        "steps": [],
    }


def explain_failure(
    failure: Failure | None, contracts: Iterable[Address], names: AddressNames
) -> str | None:
    """Return the reason of a failure as text; None without a failure.

    Input: the failure; the addresses of the contracts that may have reverted.
    """
    if failure is None:
        return None
    return failure.explain(names.known, [names.get_code(address) for address in contracts])


def _find_names(trace: AgentTrace, reasons: Iterable[str], names: AddressNames) -> dict[str, str]:
    """Return the names of the addresses in a trace, by checksummed address."""
    contracts = (address for step in trace.steps for address in (step.agent, step.tool) if address)
    handles = [pair for step in trace.steps for pair in step.handles]
    addresses = [
        *map(to_checksum_address, contracts),
        *(address for _, address in handles),
        *list_addresses(*reasons),
    ]
    return names.find_names(addresses, handles)


def serialize_cost(usage: InferenceUsage, margin: Margin | None, timing: Timing | None) -> Json:
    """Serialize a step's tokens, gas, margin and duration, and whether the rules decided."""
    return {
        "tokens": _serialize_tokens(usage),
        "gas": {"prompt": usage.prompt_gas, "output": usage.output_gas},
        "margin": None
        if margin is None
        else {
            "gap": margin.gap,
            "token": margin.token_index,
            "chosen": margin.chosen,
            "other": margin.other,
        },
        "seconds": None if timing is None or timing.seconds is None else round(timing.seconds, 4),
        "isCached": timing is not None and timing.is_cached,
        "isDecided": usage.is_decided,
    }


def _serialize_tokens(usage: InferenceUsage) -> Json:
    return {
        "cold": usage.cold_tokens,
        "warm": usage.warm_tokens,
        "output": usage.output_tokens,
        "forced": usage.forced_tokens,
    }


def _build_step_tree(steps: Sequence[TracedStep], forms: Sequence[Json]) -> list[Json]:
    """Put each step into the `steps` of the outer agent's step."""
    roots: list[Json] = []
    above: list[tuple[int, Json]] = []
    for step, form in zip(steps, forms, strict=True):
        while above and above[-1][0] >= step.depth:
            above.pop()
        if above:
            below = above[-1][1]["steps"]
            assert isinstance(below, list)  # noqa: S101 - as `serialize_step` writes it
            below.append(form)
        else:
            roots.append(form)
        above.append((step.depth, form))
    return roots
