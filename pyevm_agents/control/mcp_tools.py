"""The MCP server of the control plane: the operations of the REST interface as tools.

Source of the names: OpenFi's agent standard, `openfi_register_identity` and its kin.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field, ValidationError
from pydantic.alias_generators import to_snake

from pyevm_agents import __version__
from pyevm_agents.control.requests import (
    ConfirmationRequest,
    Expiry,
    RegistrationRequest,
    SignatureText,
    StartRequest,
    TaskRequest,
    describe_problems,
)
from pyevm_agents.control.results import (
    AgentDocument,
    AgentResult,
    AgentTrustResult,
    ConfirmationReport,
    IdentityResult,
    PolicyResult,
    ReceiptResult,
    RunOverview,
    RunResult,
    TaskResult,
    TreasuryResult,
    ValidationReport,
    VerificationReport,
)
from pyevm_agents.control.texts import Uri, Word
from pyevm_agents.control.waiting_plane import WaitingPlane
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.next_steps import Door
from pyevm_agents.manifests.documents import DocumentKind
from pyevm_agents.strict_json import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp.server.mcpserver import Context

    from pyevm_agents.control.plane import ControlPlane


INSTRUCTIONS = """\
Agents of a development chain are run in nine phases: discover, plan, trust_check, policy_check,
dry_run, execute, verify, summarize, record. Create a task, then make a dry run of it, look at its
result, and continue the run. An execution does what its dry run did, or nothing. `nextStep` of a
run names the tool that comes next.
"""

Slug = Annotated[Word, Field(alias="agentSlug", description="An agent's slug")]
OptionalSlug = Annotated[
    Word | None, Field(alias="agentSlug", description="An agent's slug; null for the first one")
]
TaskId = Annotated[Word, Field(alias="taskId", description="A task's ID")]
OptionalTaskId = Annotated[Word | None, Field(alias="taskId", description="null for all tasks")]
RunId = Annotated[Word, Field(alias="runId", description="A run's ID")]
DocumentName = Annotated[
    Word,
    Field(description=f"One of {', '.join(each.file_name for each in DocumentKind)}"),
]

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


def build_mcp_server(plane: ControlPlane) -> MCPServer[Any]:
    """Return the MCP server of a control plane."""
    plane = plane.through(Door.MCP)
    listed = (
        *_list_agent_tools(plane),
        *_list_task_tools(plane),
        *_list_run_tools(plane),
        *_list_run_actions(plane),
    )
    return MCPServer(
        "pyevm-agents",
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        tools=[_build_tool(function, hints) for function, hints in listed],
    )


class PlaneTool(Tool):
    """A tool that refuses unknown arguments, and reports problems of others."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002 - as in the base class
    ) -> Any:  # noqa: ANN401 - the tool's own
        """Use the tool. Raises: ToolError: the arguments are wrong, or the tool fails."""
        known = self.parameters["properties"]
        for name in arguments:
            if name not in known:
                takes = ", ".join(known) or "no arguments"
                raise ToolError(f"argument {name!r:.80}: unknown; {self.name} takes {takes}")
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(f"{self.name}: {describe_problems(error.errors())}") from error
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if isinstance(error.__cause__, ToolError):  # Ours, which the server puts a prefix to.
                raise error.__cause__ from None
            raise


def _build_tool(function: Callable[..., Any], hints: ToolAnnotations) -> Tool:
    tool = PlaneTool.from_function(
        _translate_errors(function), annotations=hints, structured_output=True
    )
    tool.parameters["additionalProperties"] = False
    return tool


Tools = list[tuple["Callable[..., Any]", ToolAnnotations]]


def _list_agent_tools(plane: ControlPlane) -> Tools:
    waiting = WaitingPlane(plane)

    def openfi_list_agents() -> list[AgentResult]:
        """List the installed agents: slug, name, version, description, identity."""
        return plane.list_agents()

    def openfi_get_manifest(
        document: DocumentName, agent_slug: OptionalSlug = None
    ) -> AgentDocument:
        """Return a manifest of an agent: agent.json, a registration document, or the log."""
        return AgentDocument(plane.get_document(agent_slug, parse_document_name(document)))

    async def openfi_get_trust(agent_slug: Slug) -> AgentTrustResult:
        """Return the registries' evidence on an agent, the score, and reasons for a rejection."""
        return await waiting.get_trust(agent_slug)

    def openfi_get_policy() -> PolicyResult:
        """Return the limits of budgets, and the trust that an agent needs."""
        return plane.get_policy()

    async def openfi_get_treasury() -> TreasuryResult:
        """Return the treasury that runs write through: limits, caps and balance."""
        return await waiting.get_treasury()

    async def openfi_register_identity(agent_slug: Slug, uri: Uri | None = None) -> IdentityResult:
        """Register an agent in the ERC-8004 identity registry, or change the URI of the entry."""
        return await waiting.register_identity(agent_slug, RegistrationRequest(uri=uri))

    return [
        (openfi_register_identity, CHANGES),
        (openfi_list_agents, READS),
        (openfi_get_manifest, READS),
        (openfi_get_trust, READS),
        (openfi_get_policy, READS),
        (openfi_get_treasury, READS),
    ]


def _list_task_tools(plane: ControlPlane) -> Tools:
    waiting = WaitingPlane(plane)

    def openfi_create_task(task: TaskRequest) -> TaskResult:
        """Create a task: a goal for an agent, with a budget."""
        return plane.create_task(task)

    def openfi_get_task(task_id: TaskId) -> TaskResult:
        """Return a task, the status and the runs."""
        return plane.get_task(task_id)

    def openfi_list_tasks() -> list[TaskResult]:
        """List tasks in the order of creation, each with the status and the runs."""
        return plane.list_tasks()

    async def openfi_plan_task(task_id: TaskId) -> RunResult:
        """Start a run of a task and stop after the plan. Nothing is executed."""
        return await waiting.start_run(task_id, StartRequest(until="plan"), waits=True)

    async def openfi_dry_run_task(task_id: TaskId) -> RunResult:
        """Start a run of a task and stop after the dry run. The chain does not change."""
        return await waiting.start_run(task_id, StartRequest(until="dry_run"), waits=True)

    async def openfi_run_task(task_id: TaskId) -> RunResult:
        """Run a task in all nine phases; return at the end or at a wait for a confirmation."""
        return await waiting.start_run(task_id, StartRequest(), waits=True)

    return [
        (openfi_create_task, CHANGES),
        (openfi_get_task, READS),
        (openfi_list_tasks, READS),
        (openfi_plan_task, CHANGES),
        (openfi_dry_run_task, CHANGES),
        (openfi_run_task, ACTS),
    ]


def _list_run_tools(plane: ControlPlane) -> Tools:
    waiting = WaitingPlane(plane)

    def openfi_list_runs(task_id: OptionalTaskId = None) -> list[RunOverview]:
        """List runs, in the order of their beginning."""
        return plane.list_runs(task_id)

    async def openfi_get_run(run_id: RunId) -> RunResult:
        """Return a run with the results of the phases and the receipts."""
        return await waiting.get_run(run_id, waits=False)

    def openfi_get_receipts(run_id: RunId) -> list[ReceiptResult]:
        """List the receipts of a run."""
        return plane.list_receipts(run_id)

    async def openfi_get_validation(run_id: RunId) -> ValidationReport:
        """Return the validator's response about a run, from ERC-8004's registry."""
        return await waiting.get_validation(run_id)

    async def openfi_verify_run(run_id: RunId) -> VerificationReport:
        """Execute the block of a run again, and compare the results."""
        return await waiting.verify_run(run_id)

    return [
        (openfi_list_runs, READS),
        (openfi_get_run, READS),
        (openfi_get_receipts, READS),
        (openfi_get_validation, READS),
        (openfi_verify_run, READS),
    ]


def _list_run_actions(plane: ControlPlane) -> Tools:
    waiting = WaitingPlane(plane)

    async def openfi_continue_run(run_id: RunId, until: Word | None = None) -> RunResult:
        """Go on with a run that stopped after a phase, up to another phase or to the end."""
        return await waiting.continue_run(run_id, until, waits=True)

    def openfi_get_confirmation(run_id: RunId, expiry: Expiry) -> ConfirmationReport:
        """Return the operator's data to sign: the dry run as EIP-712 typed data, and the digest."""
        return plane.get_confirmation(run_id, expiry)

    async def openfi_confirm_run(
        run_id: RunId, expiry: Expiry, signature: SignatureText
    ) -> RunResult:
        """Confirm the dry run of a run by the operator's EIP-712 signature, and go on."""
        request = ConfirmationRequest(expiry=expiry, signature=signature)
        return await waiting.confirm_run(run_id, request, waits=True)

    def openfi_cancel_run(run_id: RunId) -> RunResult:
        """Cancel a run at once, unless its block is mined."""
        return plane.cancel_run(run_id)

    return [
        (openfi_continue_run, ACTS),
        (openfi_get_confirmation, READS),
        (openfi_confirm_run, ACTS),
        (openfi_cancel_run, CHANGES),
    ]


def parse_document_name(name: str) -> DocumentKind:
    """Return the kind of a document by file name.

    Raises: ConfigError: no such document.
    """
    kinds = {each.file_name: each for each in DocumentKind}
    if name not in kinds:
        raise ConfigError(f"document {name!r:.80}: must be one of {', '.join(kinds)}")
    return kinds[name]


def _translate_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Let a client read our errors; others are faults, whose texts the server logs.

    A tool that waits is asynchronous; the server uses others in threads.
    """

    @contextmanager
    def translate() -> Iterator[None]:
        try:
            yield
        except AgentsError as error:
            raise ToolError(replace_surrogates(str(error))) from error

    def rename(values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by their names in Python: the server passes those in JSON."""
        return {to_snake(name): value for name, value in values.items()}

    @wraps(tool)
    def call(**values: Any) -> Any:  # noqa: ANN401 - the tool's own
        with translate():
            return tool(**rename(values))

    @wraps(tool)
    async def wait(**values: Any) -> Any:  # noqa: ANN401 - the tool's own
        with translate():
            return await tool(**rename(values))

    return wait if iscoroutinefunction(tool) else call
