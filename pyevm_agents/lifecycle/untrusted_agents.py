"""Calls of agents, as untrusted code: copies of answers, reasons of exceptions, host faults.

A property or a method of an agent may return or raise anything. An answer is copied with the
declared types alone. A fault counts as the host's in the phase in which the chain raised the fault:
a port, a draft or a session notes each. An agent may keep a fault and raise the fault again later.
In another phase, or in another run, that is an exception of the agent.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from pyevm_agents.errors import AgentsError, EngineFault
from pyevm_agents.lifecycle.budget import RunStoppedError
from pyevm_agents.lifecycle.json_codec import from_json, to_json
from pyevm_agents.lifecycle.manifest import AgentManifest
from pyevm_agents.recordings.canonical_json import encode_canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


P = ParamSpec("P")

T = TypeVar("T")

FAULT_TYPES = (EngineFault, GrammarViolationError, NumericFaultError)
"""Types of the host's faults."""

_noted: ContextVar[list[BaseException] | None] = ContextVar("noted_faults", default=None)
"""The faults of the phase that is being performed; None outside of a phase."""


@contextmanager
def note_phase_faults() -> Iterator[None]:
    """Note the faults of one phase, and forget these faults at the end."""
    token = _noted.set([])
    try:
        yield
    finally:
        _noted.reset(token)


def note_faults(method: Callable[P, T]) -> Callable[P, T]:
    """Return a function of the chain, whose faults count as the host's in the phase."""

    @wraps(method)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return method(*arguments, **options)
        except FAULT_TYPES as error:
            noted = _noted.get()
            if noted is not None:
                noted.append(error)
            raise

    return call


def is_host_fault(error: BaseException) -> bool:
    """Return whether an exception is a fault that came out of the chain in this phase."""
    return any(error is each for each in _noted.get() or ())


AGENTS_FAILURES = (Exception, SystemExit)
"""What an agent raises: an agent does not end the host."""


def is_agents_failure(error: BaseException) -> bool:
    """Return whether an exception is an agent's: no stop of the run, and no fault of the host."""
    is_stop = issubclass(type(error), RunStoppedError)  # It may lie about its `__class__`.
    return not is_stop and not is_host_fault(error)


def describe_exception(error: BaseException, *, is_named: bool = False) -> str:
    """Return the text of an exception, or the type's name; an agent's may have no text.

    Input: the exception; whether the type's name comes before the text. Errors of this package
        say all without it, but for a stop or a fault that an agent raises itself.
    """
    name = type(error).__name__
    try:
        text = str(error)
    except (Exception, SystemExit):  # noqa: BLE001 - of an agent's own type
        return name
    if not text:
        return name
    kind = type(error)
    is_plain = issubclass(kind, AgentsError) and not issubclass(
        kind, (RunStoppedError, *FAULT_TYPES)
    )
    return f"{name}: {text}" if is_named and not is_plain else text


MAX_ANSWER_CHARACTERS = 1_000_000
"""Of the JSON of what a method of an agent returns: it is stored, and part of the agent's log."""


class AgentFailedError(AgentsError):
    """A method of an agent raised an exception, or returned something of another type."""


def ask_agent(slug: str, kind: type[T], method: Callable[[], T]) -> T:
    """Call a method of an agent; return the result.

    Raises: AgentFailedError: an exception, or a result that is not a `kind`. A stop of the run, and
        a fault of the host, pass unchanged.
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
    """Return an agent's result in the stored form: a copy with the declared types alone.

    Raises: AgentFailedError: of another type, or too long.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswers:
    """Statements of an agent: a copy, with the declared types alone."""

    slug: str
    version: str
    identity_mode: str
    manifest: AgentManifest


def read_agent(modules: Mapping[str, object], slug: str) -> AgentAnswers:
    """Return the statements of an installed agent.

    Input:  the installed agents; the slug of one.
    Raises: AgentFailedError: an exception, or a statement of another type; the message names the
            property. ConfigError: the folder of the agent was changed. A fault of the host:
            unchanged.
    """
    module = modules[slug]
    return AgentAnswers(  # The manifest comes first: other properties may be read from it.
        manifest=_read_property(slug, "manifest", AgentManifest, module),
        slug=_read_property(slug, "slug", str, module),
        version=_read_property(slug, "version", str, module),
        identity_mode=_read_property(slug, "identity_mode", str, module),
    )


def _read_property(slug: str, name: str, kind: type[T], module: object) -> T:
    place = f"{slug}: {name}"
    try:
        return ask_agent(place, kind, lambda: getattr(module, name))
    except RunStoppedError as error:  # The agent's own: to read a property stops no run.
        reason = describe_exception(error, is_named=True)
        raise AgentFailedError(f"agent {place}: {reason}") from error
