"""Calls of agents' methods: what they return is copied and typed, what they raise has a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.errors import AgentsError
from pyevm_agents.lifecycle.json_codec import from_json, to_json
from pyevm_agents.lifecycle.module import AGENTS_FAILURES, is_agents_failure
from pyevm_agents.lifecycle.results import describe_exception
from pyevm_agents.recordings.canonical_json import encode_canonical

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MAX_ANSWER_CHARACTERS = 1_000_000
"""Of the JSON of what a method of an agent returns: it is stored, and part of the agent's log."""


class AgentFailedError(AgentsError):
    """A method of an agent raised an exception, or returned something of another type."""


def ask_agent(slug: str, kind: type[T], method: Callable[[], T]) -> T:
    """Call a method of an agent; return its result.

    Raises: AgentFailedError: it raised an exception, or returned something else than a `kind`. What
            stops a run, and a fault of the host: as it is.
    """
    try:
        value = method()
    except AGENTS_FAILURES as error:
        if not is_agents_failure(error):
            raise
        reason = describe_exception(error, is_named=True)
        raise AgentFailedError(f"agent {slug}: {reason}") from error
    return read_answer(slug, kind, value)


def read_answer(slug: str, kind: type[T], value: object) -> T:
    """Return what an agent returned as it will be stored: a copy with the declared types alone.

    Raises: AgentFailedError: it is of another type, or too long.
    """
    if not issubclass(type(value), kind):  # An object may lie about its `__class__`.
        raise AgentFailedError(
            f"agent {slug}: returned a {type(value).__name__}; must be a {kind.__name__}"
        )
    try:
        form = to_json(value)
        answer, size = from_json(kind, form), len(encode_canonical(form))
    except AGENTS_FAILURES as error:
        reason = describe_exception(error)
        raise AgentFailedError(f"agent {slug}: returned a wrong value: {reason}") from error
    if size > MAX_ANSWER_CHARACTERS:
        raise AgentFailedError(
            f"agent {slug}: returned {size:,} characters of JSON; must be at most "
            f"{MAX_ANSWER_CHARACTERS:,}"
        )
    return answer
