"""Faults of the host, told from exceptions of the same types that an agent raises itself.

A fault counts as the host's in the phase in which it came out of the chain: a port, a draft or a
session notes it as it passes. An agent may keep one and raise it again later. In another phase, or
in another run, it is the agent's own: a failed result, as is any other exception of an agent.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
T = TypeVar("T")

FAULT_TYPES = (EngineFault, GrammarViolationError, NumericFaultError)
"""Types of the host's faults."""

_noted: ContextVar[list[BaseException] | None] = ContextVar("noted_faults", default=None)
"""The faults of the phase that is being performed; None outside of a phase."""


@contextmanager
def note_phase_faults() -> Iterator[None]:
    """Note the faults of one phase, and forget them at its end."""
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
