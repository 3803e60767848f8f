"""A task: the goal that somebody gives to an agent, with the limits that hold for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.trust import TrustThreshold  # noqa: TC001 - read by the JSON codec

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Task and run IDs: they are keys of files, URLs and contracts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A goal for an agent."""

    task_id: str
    goal: str
    agent_slug: str
    """The coordinator: the agent that plans."""

    operator_wallet: bytes
    """20 bytes: the account that confirms dry runs."""

    category: str = "general"
    budget: ComputeBudget = field(default_factory=ComputeBudget)
    trust_threshold: TrustThreshold | None = None
    """What it needs beside the orchestrator's own threshold; None for nothing more."""

    def __post_init__(self) -> None:
        """Check the ID.

        Raises: ConfigError: it can't be a task's ID.
        """
        require_id("task ID", self.task_id)


def require_id(what: str, text: str) -> None:
    """Accept the ID of a task or a run.

    Raises: ConfigError: it has other characters, or is too long.
    """
    if not ID.fullmatch(text):
        raise ConfigError(
            f"{what} {text!r:.80}: must be 1 to 64 letters, digits, '-', '_' and '.', and begin "
            "with a letter or digit"
        )
