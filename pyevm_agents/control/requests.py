"""Requests of clients, as REST bodies and arguments of MCP tools: camelCase in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pyevm_agents.control.texts import Goal, Uri, Word  # noqa: TC001 - pydantic reads them
from pyevm_agents.display import VALUE_CHARACTERS, sanitize, truncate
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.lifecycle.trust import TrustThreshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_LIMIT = 2**53 - 1
"""Greatest integer that every reader of JSON reads exactly. Source: RFC 8259, section 6."""

STANDARD = ComputeBudget()

Limit = Annotated[int, Field(ge=0, le=MAX_LIMIT)]
MAX_SIGNATURE_CHARACTERS = 4_096
"""A signature has 132 characters; one that is longer is told how long it may be."""

Expiry = Annotated[int, Field(gt=0, lt=2**64, description="Unix seconds")]
SignatureText = Annotated[
    str,
    Field(
        max_length=MAX_SIGNATURE_CHARACTERS,
        pattern="^0x([0-9a-fA-F]{2})+$",
        description="r, s and v: 65 bytes, hexadecimal",
    ),
]


EXAMPLE_TASK, EXAMPLE_RUN = "my-task", "my-task-run-1"
EXAMPLE_EXPIRY = 4_102_444_800
"""Of the examples: the year 2100."""


def _with_example(example: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


class RequestModel(BaseModel):
    """A form with camelCase members and no others."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class BudgetRequest(RequestModel):
    """A compute budget; the defaults are the standard's."""

    max_steps: Annotated[Limit, Field(description="Steps of the plan and of child runs")] = (
        STANDARD.max_steps
    )
    max_tool_calls: Annotated[Limit, Field(description="Tool uses of agents and of contracts")] = (
        STANDARD.max_tool_calls
    )
    max_runtime_ms: Annotated[Limit, Field(description="Milliseconds of all phases")] = (
        STANDARD.max_runtime_ms
    )
    max_onchain_writes: Annotated[Limit, Field(description="Transactions of the execution")] = (
        STANDARD.max_onchain_writes
    )
    max_gas_wei: Annotated[
        str | None,
        Field(pattern="^[0-9]{1,78}$", description="Decimal wei; null for no limit"),
    ] = None

    def to_budget(self) -> ComputeBudget:
        """Return the budget."""
        return ComputeBudget(**self.model_dump())


class ThresholdRequest(RequestModel):
    """Requirements for running an agent."""

    min_score: Annotated[float, Field(ge=0, le=1, description="Trust score, from 0 to 1")] = 0.0
    requires_identity: Annotated[bool, Field(description="In the identity registry")] = True
    requires_registration: Annotated[bool, Field(description="By the manifest's owner")] = True
    requires_validation: Annotated[bool, Field(description="By a trusted validator")] = False

    def to_threshold(self) -> TrustThreshold:
        """Return the threshold."""
        return TrustThreshold(**self.model_dump())


class TaskRequest(RequestModel):
    """A task to create."""

    model_config = _with_example({"goal": "What is my balance?", "taskId": EXAMPLE_TASK})

    goal: Goal
    agent_slug: Annotated[
        Word | None, Field(description="The coordinator; null for the control plane's first agent")
    ] = None
    category: Annotated[Word, Field(description="Of the task")] = "general"
    budget: Annotated[BudgetRequest, Field(description="Limits of each run")] = Field(
        default_factory=BudgetRequest
    )
    trust_threshold: Annotated[
        ThresholdRequest | None, Field(description="null for the control plane's own")
    ] = None
    task_id: Annotated[Word | None, Field(description="null for a new one")] = None


class StartRequest(RequestModel):
    """A run to start."""

    model_config = _with_example({"runId": EXAMPLE_RUN, "until": "dry_run"})

    run_id: Annotated[Word | None, Field(description="null for a new one")] = None
    until: Annotated[
        Word | None,
        Field(description="The last phase, such as plan or dry_run; null for all nine"),
    ] = None


class ContinueRequest(RequestModel):
    """How far a run goes on."""

    model_config = _with_example({"until": None})

    until: Annotated[
        Word | None, Field(description="The last phase; null for all that are left")
    ] = None


class ConfirmationRequest(RequestModel):
    """An operator's confirmation of a dry run."""

    model_config = _with_example({"expiry": EXAMPLE_EXPIRY, "signature": "0x" + "00" * 64 + "1b"})

    expiry: Expiry
    signature: SignatureText


class RegistrationRequest(RequestModel):
    """Where the registration document is."""

    model_config = _with_example({"uri": None})

    uri: Annotated[
        Uri | None, Field(description="null to store the document itself on the chain")
    ] = None


def describe_problems(problems: Iterable[Mapping[str, Any]]) -> str:
    """Return the problems of a request: the place, the value and the rule of each.

    Input: the errors of a pydantic validation.
    """
    return "; ".join(map(_describe_problem, problems))


def _describe_problem(problem: Mapping[str, Any]) -> str:
    place, kind = sanitize(".".join(map(str, problem["loc"])), VALUE_CHARACTERS), problem["type"]
    if kind == "json_invalid":
        where = problem["loc"][-1]
        return f"body: must be JSON; at character {where}: {problem['ctx']['error']}"
    if kind == "missing":
        return f"{place}: is missing; pass it"
    if kind == "extra_forbidden":
        return f"{place}: is not permitted; look for a typo, or omit it"
    shown = truncate(repr(problem["input"]))
    rule = str(problem["msg"])
    for beginning in ("Input should", "String should", "Value should"):
        rule = rule.replace(beginning, "must")
    return f"{place} {shown}: {rule}"


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
