"""What phases store: one dataclass for each whose result is nothing else."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read by the JSON codec
from dataclasses import dataclass, field

from pyevm_agents.lifecycle.budget import BudgetUse  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.chain_port import PreparedBlock, RunBlock  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.receipts import RunReceipt  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.results import ExecutionResult  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.run_trace import RunTrace  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.statuses import RunStatus  # noqa: TC001 - read by the JSON codec
from pyevm_agents.lifecycle.trust import TrustResult  # noqa: TC001 - read by the JSON codec


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverResult:
    """The coordinator, and the manifests of all installed agents when the run began.

    An agent that can't be read is in `rejected_agents`; the run goes on without it.
    """

    agent_slug: str
    version: str
    manifest_digests: Mapping[str, str]
    agent_id: int | None = None
    """The coordinator's in the identity registry; None without one."""

    rejected_agents: Mapping[str, str] = field(default_factory=dict)
    """Why an agent takes no part in the run, by slug."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustCheckResult:
    """The trust in each agent of a plan."""

    agents: tuple[TrustResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCheckResult:
    """The policy check."""

    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """An execution."""

    result: ExecutionResult
    trace: RunTrace
    digest: bytes
    """Of the trace."""

    use: BudgetUse
    block: RunBlock | None
    """None for a run without a transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedExecution:
    """An execution whose block is about to be mined: with it, a run continues after a kill."""

    block: PreparedBlock
    record: ExecutionRecord
    receipts: tuple[RunReceipt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordResult:
    """The end of a run."""

    status: RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDone:
    """Why a run is not done."""

    answer: str
    """Of the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseOutcome:
    """What a phase gives to the orchestrator."""

    result: object = None
    failure: str | None = None
    """Why the run stops here; None to go on."""

    not_done: str | None = None
    """The answer of an agent that did not do what was asked, if that is why."""

    receipts: tuple[RunReceipt, ...] = ()
    is_moved: bool = False
    """Whether the dry run must be repeated: the state moved after it."""
