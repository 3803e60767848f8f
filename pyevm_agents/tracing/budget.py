"""Bounds of the memory that traces hold: of one request's, and of all requests' together."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from types import TracebackType

MAX_TRACE_BYTES = 512 * 2**20
"""Upper bound of a request's traces in bytes of memory, some 256 MiB of JSON: the opcodes of two
million gas, with stacks. Without it, 300,000 gas with memory took 15 GB."""

DEFAULT_POOL_BYTES = 1024 * 2**20
"""Upper bound of the traces of all requests together: two of the largest."""

TEXT_BYTES = 57
"""Memory of a text in a list, in addition to its characters (CPython 3.11 to 3.13)."""


class TraceTooLargeError(AgentsError):
    """Traces exceed a bound. Not a `VMError`: py-evm does not catch the error."""


class TracePool:
    """Bytes that the traces of all requests share. Thread-safe."""

    def __init__(self, most_bytes: int = DEFAULT_POOL_BYTES) -> None:
        """Create a pool of this size."""
        self._most_bytes = self._free_bytes = most_bytes
        self._lock = threading.Lock()

    @property
    def free_bytes(self) -> int:
        """The bytes that no request holds."""
        return self._free_bytes

    def take(self, size_bytes: int) -> None:
        """Reserve bytes.

        Raises: TraceTooLargeError: the pool lacks the bytes. Nothing is reserved.
        """
        with self._lock:
            if size_bytes <= self._free_bytes:
                self._free_bytes -= size_bytes
                return
        raise TraceTooLargeError(
            f"trace memory exhausted: the traces of all requests together would hold more than "
            f"{self._most_bytes:,} bytes; retry when other traces have ended, request less, or "
            "start the node with a larger --trace-memory"
        )

    def put_back(self, size_bytes: int) -> None:
        """Return reserved bytes."""
        with self._lock:
            self._free_bytes += size_bytes


class TraceBudget:
    """Bytes that one request's traces may still hold; a context manager that releases the bytes."""

    def __init__(self, most_bytes: int = MAX_TRACE_BYTES, pool: TracePool | None = None) -> None:
        """Create a budget, which the tracers of a request share.

        Input: the size in bytes; the pool to draw from, None for unshared memory.
        """
        self._most_bytes = self._left_bytes = most_bytes
        self._pool = pool

    def __enter__(self) -> Self:
        """Return the budget."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Release the budget."""
        self.release()

    def spend(self, size_bytes: int) -> None:
        """Reserve memory of this size, before use.

        Raises: TraceTooLargeError: the budget, or the pool, lacks the bytes.
        """
        if size_bytes > self._left_bytes:
            raise TraceTooLargeError(
                f"trace too large: more than {self._most_bytes:,} bytes of memory; pass limit, "
                "disableStack, disableStorage or enableMemory: false, or less gas"
            )
        if self._pool is not None:
            self._pool.take(size_bytes)
        self._left_bytes -= size_bytes

    def release(self) -> None:
        """Return all reserved memory to the pool. The budget is full again."""
        if self._pool is not None:
            self._pool.put_back(self._most_bytes - self._left_bytes)
        self._left_bytes = self._most_bytes
