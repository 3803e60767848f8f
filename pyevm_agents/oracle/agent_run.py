"""A run of a CallbackAgent as its chain has it: state, steps, result and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import to_canonical_address

if TYPE_CHECKING:
    from pyevm_agents.oracle.remote_contract import RemoteContract

STATUSES = (
    *("None", "AskingModel", "UsingTool", "AwaitingTool", "Answered", "ToolFailed", "Refused"),
    *("MalformedAnswer", "OutOfIterations", "DeadlinePassed", "RequestFailed"),
)
"""`CallbackAgent.Status`."""

ANSWERED = STATUSES.index("Answered")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedRun:
    """A run at the last block."""

    run_id: int
    status: str
    """One of `STATUSES`."""

    reasoning: tuple[str, ...]
    """Thought, action and action input of each step that used a tool."""

    tool_results: tuple[str, ...]
    """One fewer than the steps while a tool is awaited."""

    result: str
    """The answer, or the reason of the failure; empty before the end."""

    deadline: int
    request_id: int
    budget_id: int

    @property
    def has_ended(self) -> bool:
        """Whether the run has an answer, or failed."""
        return STATUSES.index(self.status) >= ANSWERED

    @property
    def is_success(self) -> bool:
        """Whether the run has an answer."""
        return self.status == STATUSES[ANSWERED]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedTool:
    """An asynchronous tool whose result a run waits for."""

    tool: bytes
    tool_run_id: int


def read_run(agent: RemoteContract, run_id: int) -> FollowedRun:
    """Return a run at the last block."""
    status, (reasoning, results), result, facts = agent.read_all(
        [(name, (run_id,)) for name in ("statusOf", "stepsOf", "resultOf", "runOf")]
    )
    _, _, _, _, deadline, request_id, budget_id = facts
    return FollowedRun(
        run_id=run_id,
        status=STATUSES[status],
        reasoning=tuple(reasoning),
        tool_results=tuple(results),
        result=result,
        deadline=deadline,
        request_id=request_id,
        budget_id=budget_id,
    )


def find_awaited_tool(agent: RemoteContract, run_id: int, first_block: int) -> AwaitedTool | None:
    """Return the tool that a run waits for; None if it never waited for one."""
    logs = agent.find_logs("AgentAwaitsTool", run_id, first=first_block)
    if not logs:
        return None
    _, tool, tool_run_id = logs[-1].values
    return AwaitedTool(tool=to_canonical_address(tool), tool_run_id=tool_run_id)


def read_chain_time(agent: RemoteContract) -> int:
    """Return the chain's time in seconds since 1970: of the next block, or of the last one."""
    for tag in ("pending", "latest"):
        block: Any = agent.client.request("eth_getBlockByNumber", [tag, False])
        if isinstance(block, dict) and block.get("timestamp"):
            return int(block["timestamp"], 16)
    return 0
