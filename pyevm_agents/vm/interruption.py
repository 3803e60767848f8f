"""Ends simulated executions from another thread, at no cost for the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import OpcodeAPI


class InterruptedExecutionError(Exception):
    """An execution was ended. Not a `VMError`: py-evm does not catch the error."""


class Interruption:
    """A switch that ends the executions of a request. Thread-safe.

    The interpreter looks up each opcode in a dictionary. A watched execution has a separate
    dictionary, in which the switch replaces every opcode by one that raises. A running precompile,
    such as a generation, is finished first.
    """

    def __init__(self) -> None:
        self._tables: list[tuple[Mapping[int, OpcodeAPI], dict[int, OpcodeAPI]]] = []
        self._error: InterruptedExecutionError | None = None

    def watch(self, opcodes: Mapping[int, OpcodeAPI]) -> Mapping[int, OpcodeAPI]:
        """Return a copy of opcodes, for executions that this switch ends."""
        for source, table in self._tables:
            if source is opcodes:
                return table
        table = dict(opcodes)
        self._tables.append((opcodes, table))
        if self._error is not None:
            _replace_all(table, self._error)
        return table

    def end(self, reason: str) -> None:
        """End the executions, and those that begin later, at their next opcode."""
        self._error = InterruptedExecutionError(reason)
        for _, table in list(self._tables):
            _replace_all(table, self._error)


class _EndingOpcode:
    """An opcode that raises."""

    mnemonic, gas_cost = "INTERRUPTED", 0

    def __init__(self, error: InterruptedExecutionError) -> None:
        self._error = error

    def __call__(self, computation: object) -> NoReturn:  # noqa: ARG002 - the signature of an opcode
        raise self._error


def _replace_all(table: dict[int, Any], error: InterruptedExecutionError) -> None:
    """Replace every opcode. No key is added: other threads may read the dictionary meanwhile."""
    for opcode in table:
        table[opcode] = _EndingOpcode(error)
