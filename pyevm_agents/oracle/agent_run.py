"""A run of a CallbackAgent of either version as on the chain: state, steps, result and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import encode_hex, to_canonical_address

from precompiles.address_handles import AddressBook
from precompiles.escaping import unescape_line
from precompiles.outcome import is_done
from pyevm_agents.abi.address_names import NUMBERED_HANDLE
from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.client.contract import RemoteContract
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.contracts import is_agent_v1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.abi.known_contracts import KnownContracts

STATUSES = (
    *("None", "AskingModel", "UsingTool", "AwaitingTool", "Answered", "ToolFailed", "Refused"),
    *("MalformedAnswer", "OutOfIterations", "DeadlinePassed", "RequestFailed", "NotDone"),
)
"""`OracleAgent.Status`, in order. From `Answered` on the run has ended."""

ANSWERED, NOT_DONE = STATUSES.index("Answered"), STATUSES.index("NotDone")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedRun:
    """A run at the last block."""

    run_id: int
    status: str
    """One of `STATUSES`."""

    reasoning: tuple[str, ...]
    """Thought, action and action input of each step that used a tool; of a version-1 agent without
    the step whose tool is awaited."""

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
        """Whether the run has an answer, and did the task."""
        return self.status == STATUSES[ANSWERED] and is_done(self.result)

    @property
    def is_not_done(self) -> bool:
        """Whether the run has an answer, and did not do the task. The steps stand."""
        has_answer = self.status in {STATUSES[ANSWERED], STATUSES[NOT_DONE]}
        return has_answer and not is_done(self.result)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run's start, and the reserved amount."""

    agent: RemoteContract
    oracle: RemoteContract
    run_id: int
    block_number: int
    transaction: str
    """Hash in hexadecimal."""

    prompt: str
    reserved: int
    """Wei of its budget."""

    payer: bytes | None
    """Who gets back what is left, 20 bytes; None if a subscription pays."""

    known: KnownContracts = BUNDLED
    """Contracts whose errors reasons name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedTool:
    """An asynchronous tool whose result a run waits for."""

    tool: bytes
    tool_run_id: int


def read_run(agent: RemoteContract, run_id: int) -> FollowedRun:
    """Return a run at the last block."""
    status, steps, result, facts = agent.read_all(
        [(name, (run_id,)) for name in ("statusOf", "stepsOf", "resultOf", "runOf")]
    )
    reasoning, results = split_steps(steps) if is_agent_v1(agent) else steps
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


def split_steps(entries: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the reasoning and the tool results of a version-1 run, whose steps have both."""
    parts = [entry.removesuffix("\n").rpartition("\nObservation: ") for entry in entries]
    return [part[0] for part in parts], [unescape_line(part[2]) for part in parts]


def find_started_run(agent: RemoteContract, run_id: int, first_block: int) -> StartedRun:
    """Return the start of a run. Input: the agent; the run; from which block on to search.

    Raises: AgentsError: the agent logged no such run.
    """
    logs = agent.find_logs("AgentRunStarted", run_id, first=first_block)
    if not logs:
        raise AgentsError(
            f"run {run_id} of {agent.checksum_address}: there is no such run after block "
            f"{first_block:,}; its last run is {agent.read('currentRunId')}"
        )
    start = logs[-1]
    oracle = open_agents_oracle(agent)
    budget_id = read_run(agent, run_id).budget_id
    budgets = oracle.find_logs("BudgetOpened", budget_id, first=start.block_number)
    if not budgets:
        raise AgentsError(
            f"run {run_id} of {agent.checksum_address}: oracle {oracle.checksum_address} has no "
            f"budget {budget_id:,} of it"
        )
    _, _, subscription, payer, amount = budgets[0].values
    return StartedRun(
        agent=agent,
        oracle=oracle,
        run_id=run_id,
        block_number=start.block_number,
        transaction=encode_hex(start.transaction_hash),
        prompt=start.values[3],
        reserved=amount,
        payer=None if subscription else to_canonical_address(payer),
    )


def open_agents_oracle(agent: RemoteContract) -> RemoteContract:
    """Return an agent's oracle."""
    return RemoteContract(agent.client, "AgentOracle", to_canonical_address(agent.read("oracle")))


def read_names(agent: RemoteContract) -> dict[str, str]:
    """Return the names of an agent's base prompt, by checksummed address.

    Version-1 agents have their description as their base prompt.
    """
    prompt = agent.read("description" if is_agent_v1(agent) else "basePrompt")
    handles = AddressBook(prompt, ()).handles
    return {address: name for name, address in handles if not NUMBERED_HANDLE.fullmatch(name)}


def read_refund(started: StartedRun, run: FollowedRun) -> int | None:
    """Return the rest of a run's budget, in wei; None before the end."""
    first = started.block_number
    logs = started.oracle.find_logs("BudgetReleased", run.budget_id, first=first)
    return int(logs[-1].values[1]) if logs else None


def find_awaited_tool(agent: RemoteContract, run_id: int, first_block: int) -> AwaitedTool | None:
    """Return the tool that a run waits for; None if the run never waited."""
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
