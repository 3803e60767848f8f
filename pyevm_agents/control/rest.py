"""The REST interface: documents, agents, tasks, runs, trust and policy.

Manifests stand below `/.well-known/`. ERC-8004 defines `agent-registration.json` there, so the
document has that form; OpenFi's is at `agent-registration.openfi.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from pyevm_agents import __version__
from pyevm_agents.control.openapi_page import SECURITY_POLICY, render_openapi_page
from pyevm_agents.control.requests import (  # FastAPI reads the annotations.
    EXAMPLE_EXPIRY,
    EXAMPLE_RUN,
    EXAMPLE_TASK,
    ConfirmationRequest,
    ContinueRequest,
    RegistrationRequest,
    StartRequest,
    TaskRequest,
)
from pyevm_agents.control.rest_errors import RESPONSES, add_error_handlers
from pyevm_agents.control.results import (
    AgentDocument,
    AgentResult,
    AgentTrustResult,
    ConfirmationReport,
    DryRunReport,
    IdentityResult,
    LogDocument,
    ManifestDocument,
    OpenfiRegistrationDocument,
    PolicyResult,
    ReceiptResult,
    RegistrationDocument,
    RunOverview,
    RunResult,
    TaskResult,
    TreasuryResult,
    ValidationReport,
    VerificationReport,
)
from pyevm_agents.control.texts import Word
from pyevm_agents.control.waiting_plane import WaitingPlane
from pyevm_agents.lifecycle.next_steps import Door
from pyevm_agents.manifests.documents import DocumentKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from pyevm_agents.control.plane import ControlPlane

    Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]

AgentName = Annotated[Word | None, Query(description="An agent's slug; by default the first one")]
Waits = Annotated[
    bool, Query(description="Whether to answer when the run has stopped", examples=[True])
]
Slug = Annotated[Word, Path(description="An agent's slug", examples=["gas-watcher"])]
TaskId = Annotated[Word, Path(description="A task's ID", examples=[EXAMPLE_TASK])]
Expiry = Annotated[
    int, Query(gt=0, lt=2**64, description="Unix seconds", examples=[EXAMPLE_EXPIRY])
]
RunId = Annotated[Word, Path(description="A run's ID", examples=[EXAMPLE_RUN])]

DESCRIPTION = (
    "Agents of a development chain: their manifests, and runs in nine phases. "
    "MCP clients use /mcp, with the same operations as tools."
)


DOCUMENT_SUMMARIES = {
    DocumentKind.MANIFEST: "Return the manifest of an agent",
    DocumentKind.LOG: "Return the runs that an agent coordinated, in its log",
    DocumentKind.REGISTRATION: "Return an agent's registration document in the form of ERC-8004",
    DocumentKind.OPENFI_REGISTRATION: "Return an agent's registration document in OpenFi's form",
}


DOCUMENTS: dict[DocumentKind, type[AgentDocument]] = {
    DocumentKind.MANIFEST: ManifestDocument,
    DocumentKind.LOG: LogDocument,
    DocumentKind.REGISTRATION: RegistrationDocument,
    DocumentKind.OPENFI_REGISTRATION: OpenfiRegistrationDocument,
}


def build_rest_app(plane: ControlPlane, lifespan: Lifespan | None = None) -> FastAPI:
    """Return the application of a control plane, with a page at `/docs`.

    Input: the control plane; a context around the application's life.
    """
    app = FastAPI(
        title="pyevm-agents control plane",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=lifespan,
        responses=RESPONSES,
    )
    add_error_handlers(app)
    plane = plane.through(Door.REST)
    _add_pages(app, plane)
    _add_documents(app, plane)
    _add_agents(app, plane)
    _add_tasks(app, plane)
    _add_runs(app, plane)
    _add_run_actions(app, plane)
    for route in app.routes:
        if isinstance(route, APIRoute) and route.summary is None:
            # The first sentence; the rest stays the description.
            summary, _, route.description = route.description.partition(". ")
            route.summary = summary.removesuffix(".")
    return app


def _add_pages(app: FastAPI, plane: ControlPlane) -> None:
    @app.get("/docs", include_in_schema=False)
    def show_page(request: Request) -> HTMLResponse:
        headers = {"Content-Security-Policy": SECURITY_POLICY}
        url = str(request.base_url).removesuffix("/")
        values = {"slug": plane.list_agents()[0].slug}
        page = render_openapi_page(app.openapi(), url, values)
        return HTMLResponse(page, headers=headers)


def _add_documents(app: FastAPI, plane: ControlPlane) -> None:
    def add(kind: DocumentKind) -> None:
        def get_document(agent: AgentName = None) -> dict[str, Any]:
            return plane.get_document(agent, kind)

        app.add_api_route(
            f"/.well-known/{kind.file_name}",
            get_document,
            response_model=DOCUMENTS[kind],
            summary=DOCUMENT_SUMMARIES[kind],
            operation_id=f"get_{kind.name.lower()}",
            tags=["manifests"],
        )

    for kind in DocumentKind:
        add(kind)


def _add_agents(app: FastAPI, plane: ControlPlane) -> None:
    waiting = WaitingPlane(plane)

    @app.get("/agents", tags=["agents"])
    def list_agents() -> list[AgentResult]:
        """List the installed agents."""
        return plane.list_agents()

    @app.get("/agents/{slug}", tags=["agents"])
    def get_agent(slug: Slug) -> ManifestDocument:
        """Return an agent's manifest."""
        return ManifestDocument(plane.get_document(slug, DocumentKind.MANIFEST))

    @app.get("/agents/{slug}/trust", tags=["agents"])
    async def get_trust(slug: Slug) -> AgentTrustResult:
        """Return the registries' evidence on an agent, the score, and reasons for a rejection."""
        return await waiting.get_trust(slug)

    @app.post("/agents/{slug}/registration", tags=["agents"])
    async def register_identity(slug: Slug, request: RegistrationRequest) -> IdentityResult:
        """Register an agent in the identity registry, or change the URI of the entry."""
        return await waiting.register_identity(slug, request)

    @app.get("/policy", tags=["agents"])
    def get_policy() -> PolicyResult:
        """Return the limits of budgets, and the trust that an agent needs."""
        return plane.get_policy()

    @app.get("/treasury", tags=["agents"])
    async def get_treasury() -> TreasuryResult:
        """Return the treasury that runs write through: limits, caps and balance."""
        return await waiting.get_treasury()


def _add_tasks(app: FastAPI, plane: ControlPlane) -> None:
    waiting = WaitingPlane(plane)

    @app.post("/tasks", status_code=201, tags=["tasks"])
    def create_task(request: TaskRequest) -> TaskResult:
        """Create a task. The same task ID with the same contents gives the same task."""
        return plane.create_task(request)

    @app.get("/tasks", tags=["tasks"])
    def list_tasks() -> list[TaskResult]:
        """List tasks in the order of creation, each with the status and the runs."""
        return plane.list_tasks()

    @app.get("/tasks/{task_id}", tags=["tasks"])
    def get_task(task_id: TaskId) -> TaskResult:
        """Return a task, the status and the runs."""
        return plane.get_task(task_id)

    @app.post("/tasks/{task_id}/runs", status_code=202, tags=["tasks"])
    async def start_run(
        task_id: TaskId, request: StartRequest, *, wait: Waits = False
    ) -> RunResult:
        """Start a run, up to a phase: plan and dry_run are the usual ones to look at first."""
        return await waiting.start_run(task_id, request, waits=wait)


def _add_runs(app: FastAPI, plane: ControlPlane) -> None:
    waiting = WaitingPlane(plane)

    @app.get("/runs", tags=["runs"])
    def list_runs(
        task: Annotated[Word | None, Query(description="A task's ID")] = None,
    ) -> list[RunOverview]:
        """List runs, in the order of their beginning."""
        return plane.list_runs(task)

    @app.get("/runs/{run_id}", tags=["runs"])
    async def get_run(run_id: RunId, *, wait: Waits = False) -> RunResult:
        """Return a run with the results of the phases and the receipts."""
        return await waiting.get_run(run_id, waits=wait)

    @app.get("/runs/{run_id}/receipts", tags=["runs"])
    def list_receipts(run_id: RunId) -> list[ReceiptResult]:
        """List the receipts of a run."""
        return plane.list_receipts(run_id)

    @app.get("/runs/{run_id}/validation", tags=["runs"])
    async def get_validation(run_id: RunId) -> ValidationReport:
        """Return the validator's response about a run, from ERC-8004's registry."""
        return await waiting.get_validation(run_id)

    @app.get("/runs/{run_id}/dry-run", tags=["runs"])
    def get_dry_run(run_id: RunId) -> DryRunReport:
        """Return the dry run of a run: calls, writes, logs, generations and their digest."""
        return plane.get_dry_run(run_id)


def _add_run_actions(app: FastAPI, plane: ControlPlane) -> None:
    waiting = WaitingPlane(plane)

    @app.post("/runs/{run_id}/continue", status_code=202, tags=["runs"])
    async def continue_run(
        run_id: RunId, request: ContinueRequest, *, wait: Waits = False
    ) -> RunResult:
        """Go on with a run, up to a phase."""
        return await waiting.continue_run(run_id, request.until, waits=wait)

    @app.post("/runs/{run_id}/confirmation", status_code=202, tags=["runs"])
    async def confirm_run(
        run_id: RunId, request: ConfirmationRequest, *, wait: Waits = False
    ) -> RunResult:
        """Confirm the dry run of a run by the operator's EIP-712 signature, and go on."""
        return await waiting.confirm_run(run_id, request, waits=wait)

    @app.get("/runs/{run_id}/confirmation", tags=["runs"])
    def get_confirmation(run_id: RunId, expiry: Expiry) -> ConfirmationReport:
        """Return the operator's data to sign: the dry run as EIP-712 typed data, and the digest."""
        return plane.get_confirmation(run_id, expiry)

    @app.post("/runs/{run_id}/cancel", tags=["runs"])
    def cancel_run(run_id: RunId) -> RunResult:
        """Cancel a run at once, unless its block is mined."""
        return plane.cancel_run(run_id)

    @app.post("/runs/{run_id}/verification", tags=["runs"])
    async def verify_run(run_id: RunId) -> VerificationReport:
        """Execute the block of a run again, and compare the results."""
        return await waiting.verify_run(run_id)
