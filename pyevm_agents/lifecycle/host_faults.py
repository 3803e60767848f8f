"""Faults of the host, told from exceptions of the same types that an agent raises itself.

A fault counts as the host's if it came out of the chain: a port, a draft or a session notes it as
it passes. An agent's own one is a failed result, as is any other exception of an agent.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import WeakSet

from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

FAULT_TYPES = (EngineFault, GrammarViolationError, NumericFaultError)
"""Types of the host's faults."""

_noted: WeakSet[BaseException] = WeakSet()


def note_faults(method: Callable[P, T]) -> Callable[P, T]:
    """Return a function of the chain, whose faults count as the host's."""

    @wraps(method)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return method(*arguments, **options)
        except FAULT_TYPES as error:
            _noted.add(error)
            raise

    return call


def is_host_fault(error: BaseException) -> bool:
    """Return whether an exception is a fault that came out of the chain."""
    return isinstance(error, FAULT_TYPES) and error in _noted
