"""Ends simulated executions from another thread."""

from __future__ import annotations


class InterruptedExecutionError(Exception):
    """An execution was ended. Not a `VMError`: py-evm does not catch the error."""


class Interruption:
    """A switch that ends the executions of a request. Thread-safe.

    The interpreter asks between instructions: a running precompile, such as a generation, is
    finished first.
    """

    def __init__(self) -> None:
        self._error: InterruptedExecutionError | None = None

    def end(self, reason: str) -> None:
        """End the executions, and those that begin later."""
        self._error = InterruptedExecutionError(reason)

    def raise_if_ended(self) -> None:
        """End the execution that asks, if it is to end.

        Raises: InterruptedExecutionError.
        """
        if self._error is not None:
            raise self._error
