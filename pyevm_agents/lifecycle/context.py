"""Inputs of an agent in each phase."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.session import AgentSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.run_trace import WriteTrace
    from pyevm_agents.lifecycle.trust import TrustThreshold

SESSION = "session"
"""The service that acts on the chain: present in dry run and execution."""

REHEARSE = "rehearse"
"""The service that tries a call and undoes it: present while a plan is made."""


class RunLogger:
    """The logger of an agent, with the standard's method names: Python's, named after the run."""

    def __init__(self, run_id: str) -> None:
        self._logger = logging.getLogger(f"pyevm_agents.lifecycle.{run_id}")

    def info(self, message: str, *arguments: object) -> None:
        """Log an event."""
        self._logger.info(message, *arguments)

    def warn(self, message: str, *arguments: object) -> None:
        """Log a possible problem."""
        self._logger.warning(message, *arguments)

    def error(self, message: str, *arguments: object) -> None:
        """Log a failure."""
        self._logger.error(message, *arguments)

    def debug(self, message: str, *arguments: object) -> None:
        """Log a detail."""
        self._logger.debug(message, *arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """The context of a run. Source of the fields: the agent standard of OpenFi."""

    run_id: str
    task_id: str
    operator_wallet: bytes
    compute_budget: ComputeBudget
    logger: RunLogger
    parent_run_id: str | None = None
    trust_threshold: TrustThreshold | None = None
    services: Mapping[str, object] = field(default_factory=dict)

    @property
    def session(self) -> AgentSession:
        """The service `session`: the chain, in dry run and execution.

        Raises: ConfigError: the phase acts on no chain.
        """
        found = self.services.get(SESSION)
        if not isinstance(found, AgentSession):
            raise ConfigError("services: have no session; only dry run and execution have one")
        return found

    @property
    def rehearse(self) -> Callable[[bytes, bytes, bytes | None], WriteTrace]:
        """The service `rehearse`: returns what a call would do, on the draft of the run.

        The call's arguments: target, data, and the caller, None for the run's own account. A child
        run is planned on its parent's draft, after the writes so far.

        Raises: ConfigError: the phase makes no plan.
        """
        found = self.services.get(REHEARSE)
        if not callable(found):
            raise ConfigError("services: have no rehearsal; only planning has one")
        rehearse: Callable[[bytes, bytes, bytes | None], WriteTrace] = found
        return rehearse

    def add_services(self, **services: object) -> AgentContext:
        """Return the context with more services."""
        return replace(self, services={**self.services, **services})
