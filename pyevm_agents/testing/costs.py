"""What agents cost in transactions: steps, tokens, and gas by what it was paid for."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyevm_agents.agents.trace import AgentStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What agents' transactions cost; fields in the order in which people read them."""

    gas: int
    """All of it, the transaction's own price included."""

    evm: int
    """Gas of everything but the reading and writing of models."""

    prompt: int
    """Gas of what models read."""

    output: int
    """Gas of what models wrote."""

    steps: int
    cold_tokens: int
    """Tokens that models read for the first time in a transaction."""

    warm_tokens: int
    """Tokens that they read again."""

    output_tokens: int
    """Tokens that they wrote."""


NOTHING = Cost(
    gas=0, evm=0, prompt=0, output=0, steps=0, cold_tokens=0, warm_tokens=0, output_tokens=0
)


def cost_of(steps: Sequence[AgentStep], gas_used: int) -> Cost:
    """Return what a transaction of these steps cost."""
    inferences = [step.inference for step in steps]
    prompt = sum(one.prompt_gas for one in inferences)
    output = sum(one.output_gas for one in inferences)
    return Cost(
        gas=gas_used,
        evm=gas_used - prompt - output,
        prompt=prompt,
        output=output,
        steps=len(steps),
        cold_tokens=sum(one.cold_tokens for one in inferences),
        warm_tokens=sum(one.warm_tokens for one in inferences),
        output_tokens=sum(one.output_tokens for one in inferences),
    )


def sum_of(costs: Iterable[Cost]) -> Cost:
    """Return several costs in one."""
    columns = zip(*map(astuple, [NOTHING, *costs]), strict=True)
    return Cost(**dict(zip(Cost.__slots__, map(sum, columns), strict=True)))
