"""Serializers of agent traces: a tree, because an agent may be the tool of another agent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address, to_checksum_address

from precompiles.escaping import ADDRESS
from pyevm_agents.agents.revert_reasons import BUNDLED
from pyevm_agents.agents.trace import find_closest_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from eth_typing import Address

    from precompiles.language_model import Margin
    from pyevm_agents.agents.known_contracts import KnownContracts
    from pyevm_agents.agents.revert_reasons import Failure
    from pyevm_agents.agents.trace import AgentTrace, InferenceUsage, TracedStep
    from pyevm_agents.rpc.serializers import Json


MAX_NAMED_ADDRESSES = 1_024
"""Addresses of one trace whose names are looked up."""

NUMBERED_HANDLE = re.compile(r"addr[0-9]+")
"""A handle that is not a name from the base prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """The chain's part in the text of a trace: known contracts, and codes by address."""

    known: KnownContracts = BUNDLED
    get_code: Callable[[Address], bytes] = lambda _address: b""
    """Return the runtime code of an address; empty for an account without code."""

    def explain(self, failure: Failure | None, *addresses: Address | None) -> str | None:
        """Return the reason of a failure as text; None without a failure.

        Input: the failure; the contracts that may have reverted, the innermost first.
        """
        if failure is None:
            return None
        codes = [self.get_code(address) for address in addresses if address is not None]
        return failure.explain(self.known, codes)

    def find_names(self, trace: AgentTrace, reasons: Iterable[str | None]) -> dict[str, str]:
        """Return names of a trace's addresses, by checksummed address.

        A name is that in the base prompt of an agent, or else that of the known contract with the
        address's code.
        """
        names: dict[str, str] = {}
        addresses: dict[str, None] = {}
        for step in trace.steps:
            contracts = [step.agent] if step.tool is None else [step.agent, step.tool]
            addresses |= dict.fromkeys(map(to_checksum_address, contracts))
            for handle, address in step.handles:
                addresses[address] = None
                if not NUMBERED_HANDLE.fullmatch(handle):
                    names.setdefault(address, handle)
        for reason in filter(None, reasons):
            addresses |= dict.fromkeys(
                to_checksum_address(match[0]) for match in ADDRESS.finditer(reason)
            )
        for address in islice(addresses, MAX_NAMED_ADDRESSES):
            if address not in names:
                name = self.known.find_name(self.get_code(to_canonical_address(address)))
                if name is not None:
                    names[address] = name
        return names


NO_CONTEXT = TraceContext()


def serialize_trace(
    transaction_hash: bytes, trace: AgentTrace, context: TraceContext = NO_CONTEXT
) -> Json:
    """Serialize the trace of a transaction's agents.

    Output: `isSuccess`, and the `reason` of a failure, which reverts the effects of the tools;
            `steps`, each with the nested agent's steps as its own `steps`; tokens and gas of each
            step and in total; `closest`, the number of the step with the closest decision, counted
            from 1 in the order of execution; `names` by address, from the agents' base prompts and
            from known contracts.
    """
    usage = trace.usage
    forms = [
        serialize_step(step, number, context) for number, step in enumerate(trace.steps, start=1)
    ]
    reasons = [str(form["reason"]) for form in forms if form["reason"] is not None]
    outermost = [step.agent for step in trace.steps if not step.depth][-1:]
    reason = context.explain(trace.failure, *outermost)
    closest = find_closest_step(trace.steps)
    return {
        "transactionHash": "0x" + transaction_hash.hex(),
        "isSuccess": trace.failure is None,
        "reason": reason,
        "gas": {
            "used": trace.gas_used,
            "evm": trace.gas_used - usage.prompt_gas - usage.output_gas,
            "prompt": usage.prompt_gas,
            "output": usage.output_gas,
        },
        "tokens": _serialize_tokens(usage),
        "closest": None if closest is None else closest + 1,
        "names": context.find_names(trace, [reason, *reasons]),
        "steps": _build_step_tree(trace.steps, forms),
    }


def serialize_step(step: TracedStep, number: int, context: TraceContext = NO_CONTEXT) -> Json:
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
        "reason": context.explain(step.tool_failure, step.tool),
        "answer": step.decision.answer,
        **serialize_cost(step.usage, step.margin, step.seconds),
        "isCached": step.is_cached,
        "steps": [],
    }


def serialize_cost(usage: InferenceUsage, margin: Margin | None, seconds: float | None) -> Json:
    """Serialize the tokens, gas, margin and duration of a step."""
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
        "seconds": None if seconds is None else round(seconds, 4),
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
