"""Requests of clients, as REST bodies and arguments of MCP tools: camelCase in JSON."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.lifecycle.trust import TrustThreshold

MAX_GOAL_CHARACTERS = 4_000
"""A goal is stored and shown, and a model reads it."""

STANDARD = ComputeBudget()


class RequestForm(BaseModel):
    """A form with camelCase members and no others."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class BudgetForm(RequestForm):
    """A compute budget; the defaults are the standard's."""

    max_steps: int = STANDARD.max_steps
    max_tool_calls: int = STANDARD.max_tool_calls
    max_runtime_ms: int = STANDARD.max_runtime_ms
    max_onchain_writes: int = STANDARD.max_onchain_writes
    max_gas_wei: Annotated[str | None, Field(description="Decimal wei; null for no limit")] = None

    def to_budget(self) -> ComputeBudget:
        """Return the budget."""
        return ComputeBudget(**self.model_dump())


class ThresholdForm(RequestForm):
    """What an agent needs to be run."""

    min_score: Annotated[float, Field(ge=0, le=1)] = 0.0
    requires_identity: bool = True
    requires_registration: bool = True
    requires_validation: bool = False

    def to_threshold(self) -> TrustThreshold:
        """Return the threshold."""
        return TrustThreshold(**self.model_dump())


class TaskForm(RequestForm):
    """A task to create."""

    goal: Annotated[str, Field(min_length=1, max_length=MAX_GOAL_CHARACTERS)]
    agent_slug: Annotated[
        str | None, Field(description="The coordinator; null for the control plane's first agent")
    ] = None
    category: str = "general"
    budget: BudgetForm = Field(default_factory=BudgetForm)
    trust_threshold: Annotated[
        ThresholdForm | None, Field(description="null for the control plane's own")
    ] = None
    task_id: Annotated[str | None, Field(description="null for a new one")] = None


class RunForm(RequestForm):
    """A run to start."""

    run_id: Annotated[str | None, Field(description="null for a new one")] = None
    until: Annotated[
        str | None,
        Field(description="The last phase, such as plan or dry_run; null for all nine"),
    ] = None


class ContinueForm(RequestForm):
    """How far a run goes on."""

    until: Annotated[
        str | None, Field(description="The last phase; null for all that are left")
    ] = None


class ConfirmationForm(RequestForm):
    """An operator's confirmation of a dry run."""

    expiry: Annotated[int, Field(gt=0, lt=2**64, description="Unix seconds")]
    signature: Annotated[str, Field(pattern="^0x([0-9a-fA-F]{2})+$")]


class RegistrationForm(RequestForm):
    """Where the registration document is."""

    uri: Annotated[
        str | None, Field(description="null to store the document itself on the chain")
    ] = None


def parse_phase(text: str | None) -> Phase:
    """Return the phase of a name; the last one for None.

    Raises: ConfigError: no such phase.
    """
    if text is None:
        return Phase.RECORD
    try:
        return Phase(text)
    except ValueError as error:
        known = ", ".join(each.value for each in Phase)
        raise ConfigError(f"phase {text!r:.40}: must be one of {known}") from error
