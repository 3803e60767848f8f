"""Bound of the memory that the traces of one request hold."""

from __future__ import annotations

from pyevm_agents.errors import AgentsError

MAX_TRACE_BYTES = 512 * 2**20
"""Upper bound of a request's traces in bytes of memory, some 256 MiB of JSON: the opcodes of two
million gas, with stacks. Without it, 300,000 gas with memory took 15 GB."""

TEXT_BYTES = 57
"""Memory of a text in a list, in addition to its characters (CPython 3.11 to 3.13)."""


class TraceTooLargeError(AgentsError):
    """A request's traces exceed their budget. Not a `VMError`: it leaves py-evm uncaught."""


class TraceBudget:
    """Bytes that the traces of one request may still hold."""

    def __init__(self, most_bytes: int = MAX_TRACE_BYTES) -> None:
        """Create a budget, which the tracers of a request share."""
        self._most_bytes = self._left_bytes = most_bytes

    def spend(self, size_bytes: int) -> None:
        """Reserve memory of this size, before it is used.

        Raises: TraceTooLargeError: the budget does not have it.
        """
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            raise TraceTooLargeError(
                f"trace too large: more than {self._most_bytes:,} bytes of memory; pass limit, "
                "disableStack, disableStorage or enableMemory: false, or less gas"
            )
