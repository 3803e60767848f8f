"""Limits of a run, and the meter that a run and its child runs spend together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.errors import AgentsError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

MILLISECONDS = 1_000
"""Of a second."""


class RunStoppedError(AgentsError):
    """A run must not go on: further acts are refused, even if the agent catches the error."""


class BudgetExceededError(RunStoppedError):
    """A limit of the budget is used up; nothing was done beyond the limit."""


class RunCancelledError(RunStoppedError):
    """The operator cancelled the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeBudget:
    """The limits of one execution. Source of the defaults: the agent standard of OpenFi."""

    max_steps: int = 10
    max_tool_calls: int = 50
    max_runtime_ms: int = 300_000
    """Of the agents' own methods in all phases of the run; waiting for a person is not counted."""

    max_onchain_writes: int = 5
    max_gas_wei: str | None = None
    """Decimal wei that the transactions of an execution may cost; None for no limit."""

    def __post_init__(self) -> None:
        """Check the wei, which are a text.

        Raises: ConfigError: not a decimal number.
        """
        text = self.max_gas_wei
        if text is not None and not (text.isascii() and text.isdecimal()):
            raise ConfigError(f"maxGasWei {text!r:.40}: must be a decimal number of wei")

    def list_limits(self) -> dict[str, int]:
        """Return the whole-number limits by name in JSON."""
        return {
            "maxSteps": self.max_steps,
            "maxToolCalls": self.max_tool_calls,
            "maxRuntimeMs": self.max_runtime_ms,
            "maxOnchainWrites": self.max_onchain_writes,
        }

    @property
    def gas_wei(self) -> int | None:
        """`max_gas_wei` as a number."""
        return None if self.max_gas_wei is None else int(self.max_gas_wei)

    def narrow(self, other: ComputeBudget) -> ComputeBudget:
        """Return the lower one of each limit."""
        gas = [each.gas_wei for each in (self, other) if each.gas_wei is not None]
        return ComputeBudget(
            max_steps=min(self.max_steps, other.max_steps),
            max_tool_calls=min(self.max_tool_calls, other.max_tool_calls),
            max_runtime_ms=min(self.max_runtime_ms, other.max_runtime_ms),
            max_onchain_writes=min(self.max_onchain_writes, other.max_onchain_writes),
            max_gas_wei=str(min(gas)) if gas else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetUse:
    """The spent part of a budget."""

    steps: int = 0
    tool_calls: int = 0
    onchain_writes: int = 0
    gas_wei: int = 0


class BudgetMeter:
    """Meter of an execution's spending. A child run's meter spends the parent's as well."""

    def __init__(
        self,
        budget: ComputeBudget,
        *,
        now: Callable[[], float],
        spent_ms: int = 0,
        parent: BudgetMeter | None = None,
    ) -> None:
        """Start a meter.

        Input:
            budget: the limits.
            now: returns seconds that only grow.
            spent_ms: runtime that earlier phases took.
            parent: the meter of the run that started this one.
        """
        self.budget = budget
        self.use = BudgetUse()
        self._now = now
        self._started = now() - spent_ms / MILLISECONDS
        self._paused_ms = spent_ms
        self._parent = parent

    @property
    def spent_ms(self) -> int:
        """The runtime so far."""
        return int((self._now() - self._started) * MILLISECONDS)

    def pause(self) -> None:
        """Stop the time of this meter, until `resume`."""
        self._paused_ms = self.spent_ms

    def resume(self) -> None:
        """Let the time of this meter go on after a pause."""
        self._started = self._now() - self._paused_ms / MILLISECONDS

    def create_child(self, budget: ComputeBudget) -> BudgetMeter:
        """Return the meter of a child run."""
        return BudgetMeter(budget, now=self._now, parent=self)

    def spend(
        self, *, steps: int = 0, tool_calls: int = 0, onchain_writes: int = 0, gas_wei: int = 0
    ) -> None:
        """Spend from this meter and those above, or from none.

        Raises: BudgetExceededError: a limit would be exceeded, or the time is over.
        """
        amounts = {
            "steps": steps,
            "tool_calls": tool_calls,
            "onchain_writes": onchain_writes,
            "gas_wei": gas_wei,
        }
        chain = self._list_meters()
        for meter in chain:
            meter._require(amounts)  # noqa: SLF001 - another one of this class
        for meter in chain:
            use = meter.use
            sums = {name: getattr(use, name) + amount for name, amount in amounts.items()}
            meter.use = replace(use, **sums)

    def _list_meters(self) -> list[BudgetMeter]:
        meters, meter = [], self
        while meter is not None:
            meters.append(meter)
            meter = meter._parent  # type: ignore[assignment]
        return meters

    def _require(self, amounts: dict[str, int]) -> None:
        budget, use = self.budget, self.use
        limits = {
            "steps": ("maxSteps", budget.max_steps),
            "tool_calls": ("maxToolCalls", budget.max_tool_calls),
            "onchain_writes": ("maxOnchainWrites", budget.max_onchain_writes),
            "gas_wei": ("maxGasWei", budget.gas_wei),
        }
        for name, (label, limit) in limits.items():
            wanted = getattr(use, name) + amounts[name]
            if limit is not None and amounts[name] and wanted > limit:
                raise BudgetExceededError(
                    f"{label} {limit:,}: {wanted:,} would be spent; raise the task's budget"
                )
        if self.spent_ms > budget.max_runtime_ms:
            raise BudgetExceededError(
                f"maxRuntimeMs {budget.max_runtime_ms:,}: {self.spent_ms:,} ms have passed; raise "
                "the task's budget"
            )


def describe_overspending(budget: ComputeBudget, use: BudgetUse) -> str | None:
    """Return which limit of a budget was exceeded; None if none was."""
    limits = {
        "steps": (use.steps, budget.max_steps),
        "tool calls": (use.tool_calls, budget.max_tool_calls),
        "on-chain writes": (use.onchain_writes, budget.max_onchain_writes),
        "wei for gas": (use.gas_wei, budget.gas_wei),
    }
    for name, (used, limit) in limits.items():
        if limit is not None and used > limit:
            return f"{used:,} {name}: the limit is {limit:,}"
    return None
