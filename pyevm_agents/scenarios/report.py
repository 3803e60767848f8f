"""The report of a scenario: transactions, differences from the ideal, and sections for people.

A report is data alone. `cli/demo/text.py` and `cli/demo/page.py` render reports.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.agents.trace import serialize_confidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.reports.document import Chapter, Headline
    from pyevm_agents.reports.position_chart import PositionChart


class AgentTransaction(Protocol):
    """A transaction with the steps of agents."""

    @property
    def transaction_hash(self) -> bytes:
        """Hash of the transaction."""
        ...

    @property
    def block_number(self) -> int:
        """Number of the block."""
        ...

    @property
    def gas_used(self) -> int:
        """Gas of the transaction."""
        ...

    @property
    def failure(self) -> str | None:
        """The reason of the revert; None for a success."""
        ...

    @property
    def steps(self) -> tuple[AgentStep, ...]:
        """Steps of the agents."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTransaction:
    """A transaction of a scenario: a `AgentTransaction`."""

    transaction_hash: bytes
    block_number: int
    gas_used: int
    failure: str | None = None
    steps: tuple[AgentStep, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioReport:
    """The results of a scenario, for people and for programs."""

    scenario: str
    title: str
    summary: str
    """A paragraph about the scenario."""

    model: Mapping[str, str]
    """`name` and `digest`."""

    is_scripted: bool
    """Whether the scripted ideal ran in place of the model."""

    transactions: tuple[AgentTransaction, ...]
    chapters: tuple[Chapter, ...]
    charts: tuple[PositionChart, ...] = ()
    headlines: tuple[Headline, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """(name, value): limits and parties."""

    warnings: tuple[str, ...] = ()
    count: int = 1
    """Runs, requests or expectations that are compared with the ideal."""

    ideal_count: int
    """Those that ended as the ideal."""

    remark: str = ""
    """Other counts."""

    differences: tuple[str, ...]
    """From the ideal, a sentence each."""

    is_not_done: bool = False
    """Whether an agent answered that the instruction was not executed."""

    seconds: float
    details: Mapping[str, object]
    """JSON of this scenario alone. Amounts are decimal strings of base units."""

    @property
    def has_ended_as_ideal(self) -> bool:
        """Whether nothing differs from the ideal."""
        return not self.differences

    def serialize(self) -> dict[str, object]:
        """Return the report as a JSON object. The members are the same for all scenarios."""
        return {
            "scenario": self.scenario,
            "model": dict(self.model),
            "isScripted": self.is_scripted,
            "transactions": [_serialize_transaction(each) for each in self.transactions],
            "endedAsIdeal": self.has_ended_as_ideal,
            "differences": list(self.differences),
            "seconds": round(self.seconds, 3),
            "details": dict(self.details),
        }


def _serialize_transaction(run: AgentTransaction) -> dict[str, object]:
    return {
        "hash": "0x" + run.transaction_hash.hex(),
        "blockNumber": run.block_number,
        "status": int(run.failure is None),
        "failure": run.failure,
        "gas": run.gas_used,
        "steps": [{"depth": step.depth, **serialize_step(step)} for step in run.steps],
    }


def serialize_step(step: AgentStep) -> dict[str, object]:
    """Return an agent's step as a JSON object, with integers in inputs as decimal strings."""
    return {
        "thought": step.thought,
        "action": step.action,
        "input": stringify_integers(json.loads(step.action_input or "null")),
        "observation": step.observation,
        "reason": step.tool_failure,
        "answer": step.answer,
        "isDecided": step.inference.is_decided,
        "margin": serialize_margin(step),
        **serialize_confidence(step.confidence),
    }


def serialize_margin(step: AgentStep) -> dict[str, object] | None:
    """Return a step's closest decision; `token` is the index of the output token, from 0."""
    margin = step.margin
    if margin is None:
        return None
    return {
        "gap": margin.gap,
        "token": margin.token_index,
        "chosen": margin.chosen,
        "other": margin.other,
    }


def stringify_integers(form: object) -> object:
    """Return a JSON value with integers as decimal strings.

    Numbers beyond 2^53 do not survive a JSON reader in JavaScript.
    """
    match form:
        case dict():
            return {name: stringify_integers(value) for name, value in form.items()}
        case list():
            return [stringify_integers(value) for value in form]
        case bool():
            return form
        case int():
            return str(form)
        case _:
            return form
