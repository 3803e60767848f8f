"""Calls of precompiles without a chain, to compare two implementations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from eth.exceptions import VMError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import ComputationAPI

    Precompile = Callable[[ComputationAPI], object]


class Message(NamedTuple):
    """The message of a call: its input."""

    data: bytes

    @property
    def data_as_bytes(self) -> bytes:
        return self.data


class Computation:
    """The parts of a computation that precompiles use."""

    def __init__(self, data: bytes) -> None:
        self.msg = Message(data)
        self.gas = 0
        self.output = b""

    def consume_gas(self, amount: int, reason: str) -> None:
        assert reason
        self.gas += amount


def run_precompile(precompile: Precompile, data: bytes) -> tuple[int, str] | None:
    """Return the gas and the output, in hexadecimal; None if the call fails."""
    computation: Any = Computation(data)
    try:
        precompile(cast("ComputationAPI", computation))
    except VMError:
        return None
    return computation.gas, computation.output.hex()
