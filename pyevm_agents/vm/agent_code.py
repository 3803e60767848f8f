"""Code streams: the opcodes of a call as they are executed, all or those left to py-evm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.vm.code_stream import CodeStream
from eth.vm.opcode_values import STOP

from pyevm_agents.vm.interpreter import PRICES, interpret
from pyevm_agents.vm.jump_destinations import get_jump_destinations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import ComputationAPI

    from pyevm_agents.vm.interruption import Interruption


class AgentCode(CodeStream):
    """A code stream with cached jump destinations, which can be interrupted.

    Each opcode is to be executed before the next one is requested.
    """

    __slots__ = ("_interruption", "_jumps")

    prices: Sequence[int] = PRICES
    """What `interpret` may execute; see there."""

    def __init__(self, code: bytes, interruption: Interruption | None = None) -> None:
        """Create the stream of a code. Input: the switch, if any, that ends the execution."""
        super().__init__(code)
        self._interruption = interruption
        self._jumps = get_jump_destinations(code)
        self.valid_positions = self._jumps.known

    def is_valid_opcode(self, position: int) -> bool:
        """Whether a position is a valid destination of a jump."""
        return self._jumps.is_valid(position)

    def __iter__(self) -> Iterator[int]:
        """Yield every opcode. Raises: InterruptedExecutionError."""
        return self.observe(self._iter_all())

    def iter_left(self, computation: ComputationAPI) -> Iterator[int]:
        """Yield the opcodes that are left to py-evm; the others are executed.

        Raises: InterruptedExecutionError.
        """
        return self.observe(self._iter_left(computation))

    def observe(self, opcodes: Iterator[int]) -> Iterator[int]:
        """Yield opcodes, with what a subclass has to say about each.

        Raises: InterruptedExecutionError.
        """
        for opcode in opcodes:
            if self._interruption is not None:
                self._interruption.raise_if_ended()
            yield opcode

    def _iter_all(self) -> Iterator[int]:
        raw, end = self._raw_code_bytes, self._length_cache
        while True:
            at = self.program_counter
            self.program_counter = at + 1
            yield raw[at] if at < end else STOP

    def _iter_left(self, computation: ComputationAPI) -> Iterator[int]:
        while True:
            yield interpret(computation, self.prices)
