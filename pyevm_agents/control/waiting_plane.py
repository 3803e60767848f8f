"""The operations of a control plane that may wait for a run, for an event loop.

Servers of REST and MCP have some forty threads for short work. An operation that waited in one
would keep others from reading and from cancelling, as soon as that many clients wait. Here no
thread waits: short parts run in a thread, and the event loop waits for the rest.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from pyevm_agents.control.plane import ControlPlane
    from pyevm_agents.control.requests import (
        ConfirmationRequest,
        RegistrationRequest,
        StartRequest,
    )
    from pyevm_agents.control.results import (
        AgentTrustResult,
        IdentityResult,
        RunResult,
        TreasuryResult,
        ValidationReport,
        VerificationReport,
    )

T = TypeVar("T")


class WaitingPlane:
    """A control plane whose clients wait. Errors and results are those of `ControlPlane`."""

    def __init__(self, plane: ControlPlane) -> None:
        """Input: the control plane."""
        self._plane = plane

    async def start_run(self, task_id: str, request: StartRequest, *, waits: bool) -> RunResult:
        """Start a run of a task. Input: waits: whether to return when the run has stopped."""
        return await self._finish(lambda: self._plane.start_run(task_id, request), waits=waits)

    async def continue_run(self, run_id: str, until: str | None, *, waits: bool) -> RunResult:
        """Go on with a run up to a phase."""
        return await self._finish(lambda: self._plane.continue_run(run_id, until), waits=waits)

    async def confirm_run(
        self, run_id: str, request: ConfirmationRequest, *, waits: bool
    ) -> RunResult:
        """Confirm the dry run of a run, and go on to the end."""
        return await self._finish(lambda: self._plane.confirm_run(run_id, request), waits=waits)

    async def get_run(self, run_id: str, *, waits: bool) -> RunResult:
        """Return a run."""
        return await self._finish(lambda: self._plane.get_run(run_id), waits=waits)

    async def get_trust(self, slug: str) -> AgentTrustResult:
        """Return an agent's evidence in the registries."""
        return await _wait(lambda: self._plane.submit_trust(slug))

    async def get_treasury(self) -> TreasuryResult:
        """Return the treasury that runs write through."""
        return await _wait(self._plane.submit_treasury)

    async def register_identity(self, slug: str, request: RegistrationRequest) -> IdentityResult:
        """Register an agent in the identity registry."""
        return await _wait(lambda: self._plane.submit_registration(slug, request))

    async def get_validation(self, run_id: str) -> ValidationReport:
        """Return the response of the validator about a run."""
        return await _wait(lambda: self._plane.submit_validation(run_id))

    async def verify_run(self, run_id: str) -> VerificationReport:
        """Execute the block of a run again."""
        return await _wait(lambda: self._plane.submit_verification(run_id))

    async def _finish(self, begin: Callable[[], RunResult], *, waits: bool) -> RunResult:
        run = await anyio.to_thread.run_sync(begin)
        work = self._plane.find_work(run.run_id)
        if not waits or work is None:
            return run
        # Whoever waits may leave; the run goes on.
        await asyncio.shield(asyncio.wrap_future(work))
        return await anyio.to_thread.run_sync(self._plane.get_run, run.run_id)


async def _wait(submit: Callable[[], Future[T]]) -> T:
    """Return the result of submitted work, which does not begin once its client has left."""
    return await asyncio.wrap_future(await anyio.to_thread.run_sync(submit))
